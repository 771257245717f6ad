"""Asks a running Apache Kafka what a script of heartbeats asks, and writes its answers into the script: its classes alone do not say
when records reach the log, nor in which version a request is refused. Needs what tests/setup.sh prepares.

    heartbeats.py [SCRIPT]

The script is crates/aplomb-coordinator/src/group/consumer/tests/kafka.txt if none is named; its test says what the lines mean. A topic
that changes is waited for 1.5 s: the coordinator hears of it later than clients do."""

import struct
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from confluent_kafka import Consumer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # noqa: E402
from harness import broker, wire  # noqa: E402

SCRIPT = ROOT / "crates" / "aplomb-coordinator" / "src" / "group" / "consumer" / "tests" / "kafka.txt"

uv = wire.unsigned_varint


def cs(text):
    return b'\x00' if text is None else wire.compact_string(text)


class R(wire.Reader):
    """Reads flexible messages."""

    def cstr(self):
        n = self.unsigned_varint()
        return None if n == 0 else self.take(n - 1).decode()

    def uuid(self):
        return self.take(16)

    def carr(self, f):
        n = self.unsigned_varint()
        return None if n == 0 else [f() for _ in range(n - 1)]

    def tags(self):
        n = self.unsigned_varint()
        assert n == 0, n


class Asker:
    """Carries out the lines of a script."""

    def __init__(self, b):
        self.b = b
        self.admin = AdminClient({'bootstrap.servers': b.bootstrap})
        self.c = wire.Connection(b.port)
        self.ids = {}
        self.alias = {}
        self.generated = []
        self.group = 'g'
        self.warm()

    def warm(self):
        for _ in range(100):
            r = self.c.ask(wire.header(10, 3, flexible=True) + cs('g') + b'\x00' + b'\x00')
            r = R(r)
            r.take(4)
            r.tags()
            r.take(4)
            if struct.unpack('>h', r.take(2))[0] == 0:
                break
            time.sleep(0.2)
        for _ in range(100):
            if self.hb('warm', 'x', -1, {}).split()[0] not in ('14', '15', '16'):
                break
            time.sleep(0.2)

    def learn(self):
        md = self.c.ask(wire.header(3, 12, flexible=True) + b'\x00' + b'\x00\x00' + b'\x00')
        r = R(md)
        r.take(4)
        r.tags()
        r.take(4)

        def brk():
            r.take(4)
            r.cstr()
            r.take(4)
            r.cstr()
            r.tags()
        r.carr(brk)
        r.cstr()
        r.take(4)

        def part():
            r.take(2)
            r.take(4)
            r.take(4)
            r.take(4)
            for _ in range(3):
                r.carr(lambda: r.take(4))
            r.tags()

        def top():
            r.take(2)
            n = r.cstr()
            i = r.uuid()
            r.take(1)
            ps = r.carr(part)
            r.take(4)
            r.tags()
            self.ids[n] = i
            return (n, len(ps))
        return dict(r.carr(top))

    def wait(self, name, n):
        for _ in range(100):
            if self.learn().get(name) == n:
                break
            time.sleep(0.05)
        time.sleep(1.5)

    def name(self, i):
        return next((n for n, k in self.ids.items() if k == i), '?')

    def parts(self, tps):
        shown = []
        for i, ps in sorted(((self.name(i), ps) for i, ps in tps)):
            shown.append(f"{i}:{'.'.join(map(str, sorted(ps)))}")
        return '[' + ' '.join(shown) + ']'

    def hb(self, group, member, epoch, o):
        v = int(o.get('v', 1))

        def tparr(text):
            if text is None:
                return b'\x00'
            tps = [t for t in text.split(',') if t]
            out = uv(len(tps) + 1)
            for t in tps:
                n, ps = t.split(':')
                ps = ps.split('.')
                out += self.ids[n] + uv(len(ps) + 1) + b''.join((struct.pack('>i', int(p)) for p in ps)) + b'\x00'
            return out
        names = o.get('names')
        split = [n for n in (names or '').split(',') if n]
        names = b'\x00' if names is None else uv(len(split) + 1) + b''.join(map(cs, split))
        body = cs(group) + cs('' if member == '-' else member) + struct.pack('>i', epoch) + cs(o.get('instance')) + cs(o.get('rack'))
        body += struct.pack('>i', int(o.get('timeout', -1))) + names
        if v >= 1:
            body += cs(o.get('regex'))
        body += cs(o.get('assignor')) + tparr(o.get('own')) + b'\x00'
        r = R(self.c.ask(wire.header(68, v, client_id='client', flexible=True) + body))
        r.take(4)
        r.tags()
        r.take(4)
        err = struct.unpack('>h', r.take(2))[0]
        msg = r.cstr()
        mid = r.cstr()
        ep, iv = struct.unpack('>ii', r.take(8))
        flag = r.take(1)
        a = 'null'
        if flag == b'\x01':

            def tp():
                i = r.uuid()
                ps = r.carr(lambda: struct.unpack('>i', r.take(4))[0])
                r.tags()
                return (i, ps)
            a = self.parts(r.carr(tp))
        if mid is None:
            shown = '-'
        elif member == '-':
            shown = 'generated'
            self.generated.append(mid)
        else:
            shown = mid
        return f'{err} {shown} {ep} {iv} {a}' + (f' {msg}' if msg else '')

    def describe(self):
        r = R(self.c.ask(wire.header(69, 1, flexible=True) + uv(2) + cs(self.group) + b'\x00' + b'\x00'))
        r.take(4)
        r.tags()
        r.take(4)
        out = []

        def assignment():

            def tp():
                r.uuid()
                n = r.cstr()
                ps = r.carr(lambda: struct.unpack('>i', r.take(4))[0])
                r.tags()
                return (n, ps)
            tps = r.carr(tp)
            r.tags()
            return '[' + ' '.join((f"{n}:{'.'.join(map(str, sorted(ps)))}" for n, ps in sorted(tps))) + ']'

        def mem():
            mid = r.cstr()
            inst = r.cstr()
            rack = r.cstr()
            ep = struct.unpack('>i', r.take(4))[0]
            r.cstr()
            r.cstr()
            names = r.carr(r.cstr)
            rx = r.cstr()
            a = assignment()
            t = assignment()
            ty = r.take(1)[0]
            r.tags()
            regex = 'null' if rx is None else rx or '-'
            return f"{mid} {inst or '-'} {rack or '-'} {ep} {','.join(sorted(names))} {regex} {a} {t} {ty}"

        def grp():
            err = struct.unpack('>h', r.take(2))[0]
            msg = r.cstr()
            g = r.cstr()
            st = r.cstr()
            ge, ae = struct.unpack('>ii', r.take(8))
            asn = r.cstr()
            ms = r.carr(mem)
            r.take(4)
            r.tags()
            out.append(f"{err} {st or '-'} {ge} {ae} {asn or '-'}" + (f' {msg}' if msg else ''))
            out.extend(sorted(ms))
        r.carr(grp)
        return out

    def commit(self, member, epoch, o):
        v = int(o.get('v', 9))
        n, ps = o['of'].split(':')
        body = cs(self.group) + struct.pack('>i', epoch) + cs('' if member == '-' else member) + cs(None) + uv(2)
        body += (self.ids[n] if v >= 10 else cs(n)) + uv(len(ps.split('.')) + 1)
        for p in ps.split('.'):
            body += struct.pack('>iqi', int(p), 1, -1) + cs('') + b'\x00'
        body += b'\x00\x00'
        r = R(self.c.ask(wire.header(8, v, flexible=True) + body))
        r.take(4)
        r.tags()
        r.take(4)
        errs = []

        def tp():
            r.uuid() if v >= 10 else r.cstr()

            def p():
                r.take(4)
                errs.append(str(struct.unpack('>h', r.take(2))[0]))
                r.tags()
            r.carr(p)
            r.tags()
        r.carr(tp)
        return ' '.join(errs)

    def real(self, a):
        return self.alias.get(a, a) if a.startswith('$') else a

    def sub(self, o):
        names = [n for n in o.get('names', '').split(',') if n]
        out = struct.pack('>hi', 1, len(names)) + b''.join((wire.string(n) for n in names)) + struct.pack('>i', -1)
        own = [t.split(':') for t in o.get('own', '').split(',') if t]
        out += struct.pack('>i', len(own))
        for n, ps in own:
            ps = ps.split('.')
            out += wire.string(n) + struct.pack('>i', len(ps)) + b''.join((struct.pack('>i', int(p)) for p in ps))
        return out

    def cjoin(self, member, o, again=False):
        known = self.alias.get(member, '') if member.startswith('$') else '' if member == '-' else member
        meta = bytes.fromhex(o['metadata']) if 'metadata' in o else self.sub(o)
        body = cs(self.group) + struct.pack('>ii', 30000, 60000)
        body += cs(known) + cs(o.get('instance')) + cs(o.get('type', 'consumer'))
        body += uv(2) + cs(o.get('protocol', 'range')) + uv(len(meta) + 1) + meta + b'\x00' + cs(None) + b'\x00'
        r = R(self.c.ask(wire.header(11, 9, client_id='client', flexible=True) + body))
        r.take(4)
        r.tags()
        r.take(4)
        err = struct.unpack('>h', r.take(2))[0]
        gen = struct.unpack('>i', r.take(4))[0]
        ty = r.cstr()
        name = r.cstr()
        leader = r.cstr()
        r.take(1)
        mid = r.cstr()
        if err == 79 and member.startswith('$') and (not again):
            self.alias[member] = mid
            return self.cjoin(member, o, True)
        if member == '-' and mid:
            self.generated.append(mid)
        shown = member if member.startswith('$') else 'generated' if member == '-' and mid else mid or '-'
        return f"{err} {shown} {gen} {ty or '-'} {name or '-'}"

    def csync(self, member, gen, o):
        assign = uv(1)
        if 'assign' in o:
            n, ps = o['assign'].split(':')
            ps = ps.split('.')
            data = struct.pack('>hi', 1, 1) + wire.string(n) + struct.pack('>i', len(ps))
            data += b''.join(struct.pack('>i', int(p)) for p in ps) + struct.pack('>i', -1)
            assign = uv(2) + cs(self.real(member)) + uv(len(data) + 1) + data + b'\x00'
        body = cs(self.group) + struct.pack('>i', gen) + cs(self.real(member)) + cs(o.get('instance'))
        body += cs(o.get('type', 'consumer')) + cs(o.get('protocol', 'range')) + assign + b'\x00'
        r = R(self.c.ask(wire.header(14, 5, client_id='client', flexible=True) + body))
        r.take(4)
        r.tags()
        r.take(4)
        err = struct.unpack('>h', r.take(2))[0]
        ty = r.cstr()
        name = r.cstr()
        n = r.unsigned_varint()
        data = r.take(n - 1)
        if not data:
            return f'{err} -'
        d = wire.Reader(data)
        v = d.int16()
        tps = []
        for _ in range(d.int32()):
            t = d.string()
            tps.append((t, [d.int32() for _ in range(d.int32())]))
        return f'{err} v{v} [' + ' '.join((f"{n}:{'.'.join(map(str, sorted(ps)))}" for n, ps in sorted(tps))) + ']'

    def cbeat(self, member, gen, o):
        body = cs(self.group) + struct.pack('>i', gen) + cs(self.real(member)) + cs(o.get('instance')) + b'\x00'
        r = R(self.c.ask(wire.header(12, 4, client_id='client', flexible=True) + body))
        r.take(4)
        r.tags()
        r.take(4)
        return str(struct.unpack('>h', r.take(2))[0])

    def cleave(self, who):
        body = cs(self.group) + uv(len(who) + 1)
        for w in who:
            m, _, i = w.partition('/')
            body += cs('' if m == '-' else self.real(m)) + cs(i or None) + cs(None) + b'\x00'
        body += b'\x00'
        r = R(self.c.ask(wire.header(13, 5, client_id='client', flexible=True) + body))
        r.take(4)
        r.tags()
        r.take(4)
        top = struct.unpack('>h', r.take(2))[0]

        def m():
            r.cstr()
            r.cstr()
            e = struct.unpack('>h', r.take(2))[0]
            r.tags()
            return str(e)
        return ' '.join([str(top)] + r.carr(m))

    def records(self):
        if not hasattr(self, 'log'):
            self.log = Consumer({'bootstrap.servers': self.b.bootstrap, 'group.id': 'reader', 'enable.auto.commit': False})
            self.log.assign([TopicPartition('__consumer_offsets', 0, 0)])
            self.shown = {}
            self.all = []
        lo, hi = self.log.get_watermark_offsets(TopicPartition('__consumer_offsets', 0))
        while not self.all or self.all[-1].offset() < hi - 1:
            m = self.log.poll(1)
            if m is not None and (not m.error()):
                self.all.append(m)
        out = []
        back = {v: k for k, v in self.alias.items()}
        for m in self.all:
            k = wire.Reader(m.key())
            ty = k.int16()
            g = k.string()
            if g != self.group or m.offset() < self.shown.get(g, 0):
                continue
            v = wire.Reader(m.value()) if m.value() is not None else None
            who = ''
            if ty in (5, 7, 8):
                who = k.string()
                who = ' ' + back.get(who, who)
            if ty == 16:
                who = ' ' + k.string()
            if ty in (0, 1):
                continue
            if v is None:
                out.append(f'-{ty}{who}')
                continue
            ver = v.int16()
            t = f'{ty}{who}'
            if ty == 2:
                v.string()
                t += f' generation {v.int32()}'
            if ty == 3:
                t += f' epoch {v.int32()}'
            if ty == 6:
                e = v.int32()
                t += f' epoch {e}' + (' at 0' if v.int8() == 0 else '')
            if ty == 8:
                e = v.int32()
                v.int32()
                t += f' epoch {e} state {v.int8()}'
            if ty == 16:
                n = v.unsigned_varint() - 1
                t += ' = ' + ' '.join((v.compact_string() for _ in range(n)))
            out.append(t)
        self.shown[self.group] = hi
        for i, line in enumerate(out):
            for mid in self.generated:
                line = line.replace(mid, 'generated')
            out[i] = line
        res, i = ([], 0)
        while i < len(out):
            kind = out[i].split(' ')[0]
            j = i
            while j < len(out) and out[j].split(' ')[0] == kind:
                j += 1
            res += sorted(out[i:j])
            i = j
        return res

    def run(self, line):
        w = line.split()
        o = dict((x.split('=', 1) for x in w if '=' in x))
        a = [x for x in w[1:] if '=' not in x]
        if w[0] == 'topic':
            self.admin.create_topics([NewTopic(a[0], int(a[1]), 1)])[a[0]].result()
            self.wait(a[0], int(a[1]))
            return []
        if w[0] == 'grow':
            self.admin.create_partitions([NewPartitions(a[0], int(a[1]))])[a[0]].result()
            self.wait(a[0], int(a[1]))
            return []
        if w[0] == 'delete':
            self.admin.delete_topics([a[0]])[a[0]].result()
            self.wait(a[0], None)
            return []
        if w[0] == 'group':
            self.group = a[0]
            return []
        if w[0] == 'sleep':
            time.sleep(int(a[0]) / 1000)
            return []
        if w[0] == 'join':
            o = {'timeout': '30000', 'own': '', **o}
            return [self.hb(self.group, a[0], 0, o)]
        if w[0] == 'beat':
            return [self.hb(self.group, a[0], int(a[1]), o)]
        if w[0] == 'describe':
            return self.describe()
        if w[0] == 'commit':
            return [self.commit(a[0], int(a[1]), o)]
        if w[0] == 'cjoin':
            return [self.cjoin(a[0], o)]
        if w[0] == 'csync':
            return [self.csync(a[0], int(a[1]), o)]
        if w[0] == 'cbeat':
            return [self.cbeat(a[0], int(a[1]), o)]
        if w[0] == 'cleave':
            return [self.cleave(a)]
        if w[0] == 'records':
            return self.records()
        raise Exception(line)


def main():
    script = Path(sys.argv[1]) if len(sys.argv) > 1 else SCRIPT
    settings = {'group.consumer.assignment.interval.ms': '0', 'auto.create.topics.enable': 'false', 'broker.session.timeout.ms': '60000'}
    with tempfile.TemporaryDirectory() as directory:
        kafka = broker.Kafka(directory, settings).start()
        try:
            asker = Asker(kafka)
            written = []
            for line in script.read_text().splitlines():
                if line.startswith('  = '):
                    continue
                written.append(line)
                if not line or line.startswith('#'):
                    continue
                for answer in asker.run(line):
                    for alias, mid in asker.alias.items():
                        answer = answer.replace(mid, alias)
                    for mid in asker.generated:
                        answer = answer.replace(mid, 'generated')
                    written.append(f'  = {answer}'.rstrip())
            script.write_text('\n'.join(written) + '\n')
        finally:
            kafka.stop()


if __name__ == '__main__':
    main()
