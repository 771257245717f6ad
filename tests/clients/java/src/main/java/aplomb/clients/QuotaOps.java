package aplomb.clients;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterClientQuotasOptions;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;

/** The admin calls about quotas. */
final class QuotaOps {
    private QuotaOps() {}

    /** Nothing, if the call is of another kind. */
    static Optional<Object> call(Admin admin, JsonNode op) throws Exception {
        return Optional.ofNullable(switch (op.get("op").asText()) {
            case "alter-quotas" -> alter(admin, op);
            case "describe-quotas" -> describe(admin, op);
            default -> null;
        });
    }

    /** {@code "entity": {type: name or null}, "quotas": {key: value, or null to take it away}, "validate": whether nothing changes}. */
    private static Object alter(Admin admin, JsonNode op) throws Exception {
        var entity = new HashMap<String, String>();
        op.get("entity").properties().forEach(part -> entity.put(part.getKey(), text(part.getValue())));
        var ops = new ArrayList<ClientQuotaAlteration.Op>();
        op.get("quotas").properties().forEach(quota -> ops.add(
            new ClientQuotaAlteration.Op(quota.getKey(), quota.getValue().isNull() ? null : quota.getValue().asDouble())));
        var alteration = new ClientQuotaAlteration(new ClientQuotaEntity(entity), ops);
        var options = new AlterClientQuotasOptions().validateOnly(op.path("validate").asBoolean());
        admin.alterClientQuotas(List.of(alteration), options).all().get();
        return "altered";
    }

    /** {@code "filter": {type: name, null for the default, or "*" for any}, "strict": whether there are no other types}. */
    private static Object describe(Admin admin, JsonNode op) throws Exception {
        var components = new ArrayList<ClientQuotaFilterComponent>();
        op.path("filter").properties().forEach(part -> {
            String type = part.getKey();
            String name = text(part.getValue());
            if (name == null) {
                components.add(ClientQuotaFilterComponent.ofDefaultEntity(type));
            } else if (name.equals("*")) {
                components.add(ClientQuotaFilterComponent.ofEntityType(type));
            } else {
                components.add(ClientQuotaFilterComponent.ofEntity(type, name));
            }
        });
        var filter = op.path("strict").asBoolean() ? ClientQuotaFilter.containsOnly(components) : ClientQuotaFilter.contains(components);
        var found = new TreeMap<String, Map<String, Double>>();
        admin.describeClientQuotas(filter).entities().get().forEach((entity, quotas) ->
            found.put(new TreeMap<>(entity.entries()).toString(), new TreeMap<>(quotas)));
        return found;
    }

    private static String text(JsonNode node) {
        return node.isNull() ? null : node.asText();
    }
}
