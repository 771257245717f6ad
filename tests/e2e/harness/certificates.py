"""Keys and certificates by openssl and keytool, in all forms that brokers and clients take them."""

import subprocess

PASSWORD = "store-secret"


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *map(str, arguments)], cwd=cwd, check=True, capture_output=True)


def keytool(*arguments, cwd):
    subprocess.run(["keytool", *map(str, arguments)], cwd=cwd, check=True, capture_output=True)


class Authority:
    """Signs certificates; everything is in one directory."""

    def __init__(self, directory, name="ca"):
        self.directory, self.name = directory, name
        self.certificate = directory / f"{name}.pem"
        openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", f"/CN={name}/O=Tests", "-keyout", f"{name}.key", "-out", f"{name}.pem", cwd=directory,
        )  # fmt: skip

    def issue(self, name, subject, rsa=False, names="DNS:localhost,IP:127.0.0.1"):
        """Key and certificate as NAME.key, NAME.pem; both as NAME.both.pem."""
        here = self.directory
        kind = ["rsa:2048"] if rsa else ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("req", "-newkey", *kind, "-nodes", "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr", cwd=here)
        (here / f"{name}.ext").write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem", "-CAkey", f"{self.name}.key", "-CAcreateserial",
            "-days", "30", "-extfile", f"{name}.ext", "-out", f"{name}.pem", cwd=here,
        )  # fmt: skip
        (here / f"{name}.both.pem").write_text((here / f"{name}.key").read_text() + (here / f"{name}.pem").read_text())
        return here / f"{name}.both.pem"

    def pkcs12(self, name, *options):
        """By openssl."""
        store = self.directory / f"{name}.p12"
        openssl(
            "pkcs12", "-export", "-in", f"{name}.both.pem", "-certfile", f"{self.name}.pem", "-passout", f"pass:{PASSWORD}",
            *options, "-out", store, cwd=self.directory,
        )  # fmt: skip
        return store

    def java(self, name, kind):
        """By keytool, from the store in PKCS #12."""
        store = self.directory / f"{name}.keytool.{kind.lower()}"
        keytool(
            "-importkeystore", "-srckeystore", self.pkcs12(name), "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD,
            "-destkeystore", store, "-deststoretype", kind, "-deststorepass", PASSWORD, "-noprompt", cwd=self.directory,
        )  # fmt: skip
        return store

    def trust(self, kind):
        """A trust store with this authority, by keytool."""
        store = self.directory / f"{self.name}.trust.{kind.lower()}"
        keytool(
            "-importcert", "-alias", "ca", "-file", self.certificate, "-keystore", store, "-storetype", kind, "-storepass", PASSWORD,
            "-noprompt", cwd=self.directory,
        )  # fmt: skip
        return store

    def under_password(self, name, *options):
        """The key in PKCS #8 under the password, and its certificate."""
        target = self.directory / f"{name}.sealed.pem"
        openssl("pkcs8", "-topk8", "-in", f"{name}.key", "-passout", f"pass:{PASSWORD}", *options, "-out", target, cwd=self.directory)
        target.write_text(target.read_text() + (self.directory / f"{name}.pem").read_text())
        return target
