"""A realm of Kerberos: a KDC of MIT's with a database, principals and keytabs of its own; and a client's side of GSSAPI by hand, with
the library that brokers have, too."""

import ctypes
import os
import shutil
import subprocess
import time
from pathlib import Path

from harness.broker import free_ports

REALM = "APLOMB.TEST"
SERVICE = "kafka"
MODULE = "com.sun.security.auth.module.Krb5LoginModule"
# How far clocks, and so tokens, may be behind.
SKEW = 10
# Without it Java keeps from Apache Kafka which error of Kerberos's it is, and KerberosError knows none that passes.
SEEN = "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED"
PROGRAMS = ("krb5kdc", "kadmin.local", "kdb5_util", "kinit")
LIBRARY = "libgssapi_krb5.so.2"
MECHANISM = bytes.fromhex("2a864886f712010202")
HOST_BASED = bytes.fromhex("2a864886f71201020104")


def missing():
    """What is not on this machine."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


class Realm:
    """While it is open, clients and brokers that are started find it by their environment."""

    def __init__(self, directory):
        self.directory, self.process = Path(directory), None
        self.port = free_ports(1)[0]
        self.config = self.directory / "krb5.conf"
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_realm = false\n dns_lookup_kdc = false\n rdns = false\n"
            f" dns_canonicalize_hostname = false\n udp_preference_limit = 1\n clockskew = {SKEW}\n"
            f" default_ccache_name = FILE:{self.directory}/nothing\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self.port}\n }}\n"
            f"[domain_realm]\n localhost = {REALM}\n"
        )
        kdc = self.directory / "kdc.conf"
        kdc.write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{self.port}\n kdc_tcp_listen = 127.0.0.1:{self.port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {self.directory}/principals\n  key_stash_file = {self.directory}/stash\n"
            f"  max_life = 1h\n }}\n"
            f"[logging]\n kdc = FILE:{self.directory}/kdc.log\n"
        )
        self.environment = {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(kdc),
            "KRB5RCACHENAME": f"file2:{self.directory}/replays",
            "JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={self.config} {SEEN}",
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        }
        self.before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self.start()

    def start(self):
        self.process = subprocess.Popen(["krb5kdc", "-n", "-r", REALM], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.principal("probe")
        for _ in range(100):
            if subprocess.run(["kinit", "-kt", self.keytab("probe"), "-c", f"{self.directory}/probe.cc", "probe"], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError(f"the KDC does not answer (it has ended with {self.process.poll()})")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.stop()
        for name, value in self.before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})

    def run(self, *command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def admin(self, query):
        return self.run("kadmin.local", "-r", REALM, "-q", query)

    def keytab(self, name):
        return self.directory / f"{name.replace('/', '-')}.keytab"

    def principal(self, name, *more):
        """Makes a principal, and a keytab with its keys."""
        if not self.keytab(name).exists():
            self.admin(f"addprinc -randkey {' '.join(more)} {name}")
            self.admin(f"ktadd -k {self.keytab(name)} {name}")
        return self.keytab(name)

    def ticket(self, name, *options):
        """A credential cache with a ticket of the principal's."""
        cache = self.directory / f"{name.replace('/', '-')}.{time.monotonic_ns()}.cc"
        self.run("kinit", *options, "-kt", self.principal(name), "-c", cache, name)
        return cache

    def service(self, host="localhost", name=SERVICE):
        """The JAAS line of a broker."""
        keytab = self.principal(f"{name}/{host}")
        return f'{MODULE} required useKeyTab=true storeKey=true keyTab="{keytab}" principal="{name}/{host}@{REALM}";'

    def client(self, name):
        """What a Java client needs, but for the protocol."""
        line = f'{MODULE} required useKeyTab=true storeKey=true keyTab="{self.principal(name)}" principal="{name}@{REALM}";'
        return f"sasl.mechanism=GSSAPI\nsasl.kerberos.service.name={SERVICE}\nsasl.jaas.config={line}\n"


class _Oid(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint32), ("elements", ctypes.c_char_p)]


class _OidSet(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("elements", ctypes.POINTER(_Oid))]


class _Buffer(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]


class _Pair(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Pairs(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint32), ("elements", ctypes.POINTER(_Pair))]


MUTUAL = 2


class Initiator:
    """A client's side of one exchange, with the tickets of a credential cache."""

    def __init__(self, cache, service=f"{SERVICE}@localhost", flags=MUTUAL):
        self.library, self.flags = ctypes.CDLL(LIBRARY), flags
        self.minor, self.context = ctypes.c_uint32(), ctypes.c_void_p()
        self.mechanism = _Oid(len(MECHANISM), MECHANISM)
        pair = _Pair(b"ccache", f"FILE:{cache}".encode())
        store, wanted = _Pairs(1, ctypes.pointer(pair)), _OidSet(1, ctypes.pointer(self.mechanism))
        self.credentials, self.target = ctypes.c_void_p(), ctypes.c_void_p()
        none, initiate, indefinite = None, 1, ctypes.c_uint32(0xFFFFFFFF)
        self._call("acquire_cred_from", none, indefinite, _ref(wanted), initiate, _ref(store), _ref(self.credentials), none, none)
        self._call("import_name", _ref(_lent(service.encode())), _ref(_Oid(len(HOST_BASED), HOST_BASED)), _ref(self.target))

    def step(self, token=b""):
        """The next token, which may be empty, for the broker's last."""
        out, none = _Buffer(), None
        arguments = (self.flags, 0, none, _ref(_lent(token)), none, _ref(out), none, none)
        self._call("init_sec_context", self.credentials, _ref(self.context), self.target, _ref(self.mechanism), *arguments)
        return self._taken(out)

    def wrap(self, message):
        out = _Buffer()
        self._call("wrap", self.context, 0, 0, _ref(_lent(message)), None, _ref(out))
        return self._taken(out)

    def unwrap(self, token):
        out = _Buffer()
        self._call("unwrap", self.context, _ref(_lent(token)), _ref(out), None, None)
        return self._taken(out)

    def _call(self, name, *arguments):
        function = getattr(self.library, f"gss_{name}")
        function.restype = ctypes.c_uint32
        major = function(_ref(self.minor), *arguments)
        assert major & 0xFFFF0000 == 0, f"gss_{name}: {major:#x}, {self.minor.value}"

    def _taken(self, buffer):
        data = ctypes.string_at(buffer.value, buffer.length) if buffer.length else b""
        self.library.gss_release_buffer(_ref(self.minor), _ref(buffer))
        return data


def _ref(value):
    return ctypes.byref(value)


def _lent(data):
    buffer = _Buffer(len(data), ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p))
    buffer.data = data  # lives as long as what points to it
    return buffer
