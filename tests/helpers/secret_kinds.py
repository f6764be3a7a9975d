"""Random secrets of publicly documented kinds."""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from urllib.parse import quote

HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
B62 = string.ascii_letters + string.digits
B64 = B62 + "+/"
URL64 = B62 + "-_"
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
SIGNS = B62 + "!#%^*_+-="


def drawn(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def uuid(rng: random.Random) -> str:
    return "-".join(drawn(rng, HEX, size) for size in (8, 4, 4, 4, 12))


def jwt(rng: random.Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = (
        base64.urlsafe_b64encode(json.dumps({"sub": drawn(rng, LOWER, 9), "exp": rng.randrange(10**9)}).encode())
        .decode()
        .rstrip("=")
    )
    return f"{head}.{body}.{drawn(rng, URL64, 43)}"


def pem(rng: random.Random, kind: str, lines: int = 12) -> str:
    body = "\n".join(drawn(rng, B64, 64) for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


def word64(rng: random.Random, user: str = "deploy") -> str:
    return base64.b64encode(f"{user}:{drawn(rng, B62, 18)}".encode()).decode()


# For each kind: a function that makes a secret, and texts in which one occurs; `{s}` is replaced by it.
KINDS: dict[str, tuple[Callable[[random.Random], str], list[str]]] = {
    "aws-key-id": (lambda r: "AKIA" + drawn(r, BASE32, 16), ["aws_access_key_id = {s}", "key {s} leaked", '"AccessKeyId": "{s}",']),
    "aws-session-key-id": (lambda r: "ASIA" + drawn(r, BASE32, 16), ["export AWS_ACCESS_KEY_ID={s}"]),
    "aws-secret": (
        lambda r: drawn(r, B64, 40),
        ["aws_secret_access_key = {s}", "export AWS_SECRET_ACCESS_KEY={s}", '"SecretAccessKey": "{s}"', "AKIAIOSFODNN7QWERTYA,{s}"],
    ),
    "aws-session-token": (lambda r: "IQoJb3JpZ2luX2Vj" + drawn(r, B64, 300), ["AWS_SESSION_TOKEN={s}"]),
    "gcp-key": (lambda r: "AIza" + drawn(r, URL64, 35), ["?key={s}&v=3", "apiKey: '{s}'"]),
    "gcp-oauth-secret": (lambda r: "GOCSPX-" + drawn(r, URL64, 28), ['"client_secret":"{s}"', "secret is {s}"]),
    "gcp-oauth-token": (lambda r: "ya29." + drawn(r, URL64, 120), ["Authorization: Bearer {s}"]),
    "azure-storage": (
        lambda r: drawn(r, B64, 86) + "==",
        ["DefaultEndpointsProtocol=https;AccountName=a;AccountKey={s};EndpointSuffix=core.windows.net", "AZURE_STORAGE_KEY={s}"],
    ),
    "azure-client-secret": (
        lambda r: drawn(r, B62, 3) + "8Q~" + drawn(r, B62 + "_.~-", 34),
        ["AZURE_CLIENT_SECRET={s}", '"value": "{s}"'],
    ),
    "azure-sas": (
        lambda r: quote(drawn(r, B64, 43) + "="),
        ["https://a.blob.core.windows.net/c/f.txt?sv=2024-01-01&se=2026&sr=b&sp=r&sig={s}"],
    ),
    "digitalocean": (lambda r: "dop_v1_" + drawn(r, HEX, 64), ["doctl auth init -t {s}"]),
    "heroku": (uuid, ["HEROKU_API_KEY={s}", "heroku_api_key: {s}"]),
    "vault": (lambda r: "hvs." + drawn(r, URL64, 90), ["VAULT_TOKEN={s}", "token {s}"]),
    "terraform": (lambda r: drawn(r, B62, 14) + ".atlasv1." + drawn(r, URL64, 67), ['token = "{s}"']),
    "alibaba": (lambda r: "LTAI" + drawn(r, B62, 20), ["id {s}"]),
    "alibaba-secret": (lambda r: drawn(r, B62, 30), ["ALIBABA_CLOUD_ACCESS_KEY_SECRET={s}", "accessKeySecret: {s}"]),
    "cloudflare": (
        lambda r: drawn(r, URL64, 40),
        ["CLOUDFLARE_API_TOKEN={s}", "CF_API_TOKEN={s}", "curl -H 'Authorization: Bearer {s}' x"],
    ),
    "cloudflare-key": (lambda r: drawn(r, HEX, 37), ["X-Auth-Key: {s}", "CLOUDFLARE_API_KEY={s}"]),
    "github-classic": (
        lambda r: "ghp_" + drawn(r, B62, 36),
        ["git clone https://{s}@github.com/a/b.git", "https://x-access-token:{s}@github.com/a/b", "use {s} please"],
    ),
    "github-fine": (lambda r: f"github_pat_{drawn(r, B62, 22)}_{drawn(r, B62, 59)}", ["GH_TOKEN={s}", "({s})"]),
    "github-server": (lambda r: "ghs_" + drawn(r, B62, 36), ["token: {s}"]),
    "gitlab": (lambda r: "glpat-" + drawn(r, URL64, 20), ["PRIVATE-TOKEN: {s}", "oauth2:{s}@gitlab.com"]),
    "bitbucket": (lambda r: "ATBB" + drawn(r, B62, 32), ["git push https://bob:{s}@bitbucket.org/a/b"]),
    "atlassian": (lambda r: "ATATT3xFfGF0" + drawn(r, URL64, 170) + "=" + drawn(r, UPPER, 8), ["JIRA_API_TOKEN={s}"]),
    "npm": (lambda r: "npm_" + drawn(r, B62, 36), ["//registry.example.org/:_authToken={s}"]),
    "npm-legacy": (uuid, ["//registry.example.org/:_authToken={s}"]),
    "pypi": (lambda r: "pypi-AgEIcHlwaS5vcmc" + drawn(r, URL64, 150), ["TWINE_PASSWORD={s}", "password = {s}"]),
    "docker-pat": (lambda r: "dckr_pat_" + drawn(r, URL64, 27), ["docker login -u acme -p {s}"]),
    "docker-auth": (word64, ['{"auths":{"https://index.docker.io/v1/":{"auth":"{s}"}}}', "_auth={s}"]),
    "openai-legacy": (
        lambda r: "sk-" + drawn(r, B62, 20) + "T3BlbkFJ" + drawn(r, B62, 20),
        ["OPENAI_API_KEY={s}", "api_key='{s}'"],
    ),
    "openai-project": (lambda r: "sk-proj-" + drawn(r, URL64, 74) + "T3BlbkFJ" + drawn(r, URL64, 74), ["openai.api_key = '{s}'"]),
    "anthropic": (lambda r: "sk-ant-api03-" + drawn(r, URL64, 93) + "AA", ['"x-api-key": "{s}"', "ANTHROPIC_API_KEY={s}"]),
    "deepseek": (lambda r: "sk-" + drawn(r, HEX, 32), ["DEEPSEEK_API_KEY={s}"]),
    "openrouter": (lambda r: "sk-or-v1-" + drawn(r, HEX, 64), ["key {s}"]),
    "huggingface": (lambda r: "hf_" + drawn(r, string.ascii_letters, 34), ["HF_TOKEN={s}", "login(token='{s}')"]),
    "replicate": (lambda r: "r8_" + drawn(r, B62, 37), ["REPLICATE_API_TOKEN={s}"]),
    "mistral": (lambda r: drawn(r, B62, 32), ["MISTRAL_API_KEY={s}", "mistral_api_key: '{s}'"]),
    "cohere": (lambda r: drawn(r, B62, 40), ["COHERE_API_KEY={s}", "co = cohere.Client(api_key='{s}')"]),
    "xai": (lambda r: "xai-" + drawn(r, B62, 80), ["XAI_API_KEY={s}"]),
    "slack-bot": (
        lambda r: f"xoxb-{drawn(r, string.digits, 12)}-{drawn(r, string.digits, 13)}-{drawn(r, B62, 24)}",
        ["SLACK_BOT_TOKEN={s}", "{s}"],
    ),
    "slack-user": (
        lambda r: (
            f"xoxp-{drawn(r, string.digits, 12)}-{drawn(r, string.digits, 12)}-{drawn(r, string.digits, 13)}-{drawn(r, HEX, 32)}"
        ),
        ["{s}"],
    ),
    "slack-app": (lambda r: f"xapp-1-A{drawn(r, UPPER, 10)}-{drawn(r, string.digits, 13)}-{drawn(r, HEX, 64)}", ["{s}"]),
    "slack-webhook": (
        lambda r: f"https://hooks.slack.com/services/T{drawn(r, UPPER, 10)}/B{drawn(r, UPPER, 10)}/{drawn(r, B62, 24)}",
        ["curl -X POST {s} -d x", "<{s}>"],
    ),
    "discord-webhook": (lambda r: f"https://discord.com/api/webhooks/{drawn(r, '123456789', 19)}/{drawn(r, URL64, 68)}", ["{s}"]),
    "discord-bot": (
        lambda r: f"M{drawn(r, B62, 25)}.{drawn(r, B62, 6)}.{drawn(r, URL64, 38)}",
        ["DISCORD_TOKEN={s}", "const bot = login('{s}')"],
    ),
    "telegram": (
        lambda r: f"{drawn(r, '123456789', 10)}:AA{drawn(r, URL64, 33)}",
        ["TELEGRAM_BOT_TOKEN={s}", "https://api.telegram.org/bot{s}/getMe"],
    ),
    "stripe": (lambda r: "sk_live_" + drawn(r, B62, 99), ["STRIPE_SECRET_KEY={s}", 'stripe.api_key = "{s}"']),
    "stripe-short": (lambda r: "sk_live_" + drawn(r, B62, 24), ["{s}"]),
    "stripe-webhook": (lambda r: "whsec_" + drawn(r, B62, 32), ["STRIPE_WEBHOOK_SECRET={s}"]),
    "sendgrid": (lambda r: f"SG.{drawn(r, URL64, 22)}.{drawn(r, URL64, 43)}", ["{s}"]),
    "twilio-key": (lambda r: "SK" + drawn(r, HEX, 32), ["TWILIO_API_KEY={s}", "client = Client('{s}')"]),
    "twilio-token": (
        lambda r: drawn(r, HEX, 32),
        ["TWILIO_AUTH_TOKEN={s}", "auth_token = '{s}'", "curl -u AC0123abcd0123abcd0123abcd0123abcd:{s} x"],
    ),
    "mailgun": (lambda r: "key-" + drawn(r, HEX, 32), ["curl -s --user 'api:{s}' x", "MAILGUN_API_KEY={s}"]),
    "mailchimp": (lambda r: drawn(r, HEX, 32) + "-us14", ["MAILCHIMP_API_KEY={s}", "{s}"]),
    "shopify": (lambda r: "shpat_" + drawn(r, HEX, 32), ["X-Shopify-Access-Token: {s}"]),
    "square": (lambda r: "EAAA" + drawn(r, URL64, 60), ["{s}"]),
    "notion": (lambda r: "secret_" + drawn(r, B62, 43), ["NOTION_TOKEN={s}"]),
    "linear": (lambda r: "lin_api_" + drawn(r, B62, 40), ["{s}"]),
    "figma": (lambda r: "figd_" + drawn(r, URL64, 40), ["X-Figma-Token: {s}"]),
    "airtable": (lambda r: f"pat{drawn(r, B62, 14)}.{drawn(r, HEX, 64)}", ["{s}"]),
    "datadog": (lambda r: drawn(r, HEX, 32), ["DD_API_KEY={s}", "DD-API-KEY: {s}", "datadog_api_key: {s}"]),
    "grafana": (lambda r: f"glsa_{drawn(r, B62, 32)}_{drawn(r, HEX, 8)}", ["Bearer {s}"]),
    "databricks": (lambda r: "dapi" + drawn(r, HEX, 32), ["DATABRICKS_TOKEN={s}"]),
    "supabase": (lambda r: "sbp_" + drawn(r, HEX, 40), ["SUPABASE_ACCESS_TOKEN={s}"]),
    "newrelic": (lambda r: "NRAK-" + drawn(r, UPPER, 27), ["{s}"]),
    "sentry": (lambda r: "sntrys_" + "eyJ" + drawn(r, B64, 120), ["SENTRY_AUTH_TOKEN={s}"]),
    "doppler": (lambda r: "dp.pt." + drawn(r, B62, 43), ["{s}"]),
    "pulumi": (lambda r: "pul-" + drawn(r, HEX, 40), ["{s}"]),
    "postman": (lambda r: f"PMAK-{drawn(r, HEX, 24)}-{drawn(r, HEX, 34)}", ["{s}"]),
    "age": (lambda r: "AGE-SECRET-KEY-1" + drawn(r, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58), ["{s}"]),
    "jwt": (jwt, ["Authorization: Bearer {s}", "token={s}", "{s}"]),
    "pem-rsa": (lambda r: pem(r, "RSA PRIVATE KEY"), ["{s}", "key: |\n{s}\nother: 1"]),
    "pem-openssh": (lambda r: pem(r, "OPENSSH PRIVATE KEY", 7), ["cat id\n{s}\n"]),
    "pem-pkcs8": (lambda r: pem(r, "PRIVATE KEY"), ["{s}"]),
    "pem-escaped": (lambda r: pem(r, "PRIVATE KEY").replace("\n", "\\n"), ['"private_key": "{s}\\n",']),
    "pem-pgp": (lambda r: pem(r, "PGP PRIVATE KEY BLOCK").replace("-----\n", "-----\n\n", 1), ["{s}"]),
    "pem-cut-off": (lambda r: pem(r, "EC PRIVATE KEY").split("\n-----END")[0], ["{s}\n"]),
    "postgres-url": (
        lambda r: drawn(r, B62, 18),
        ["DATABASE_URL=postgres://app:{s}@db.internal:5432/prod", '"postgresql+asyncpg://u:{s}@h/d"'],
    ),
    "mysql-url": (lambda r: drawn(r, B62, 14), ["mysql://root:{s}@10.0.0.3/app"]),
    "mongo-url": (lambda r: drawn(r, B62, 16), ["mongodb+srv://svc:{s}@c0.ab1cd.mongodb.net/?retryWrites=true"]),
    "redis-url": (lambda r: drawn(r, B62, 20), ["redis://:{s}@cache:6379/0"]),
    "amqp-url": (lambda r: drawn(r, B62, 20), ["amqps://bunny:{s}@mq.acme.io/v"]),
    "jdbc": (lambda r: drawn(r, B62, 16), ["jdbc:postgresql://h/d?user=app&password={s}&ssl=true"]),
    "ado": (lambda r: drawn(r, B62, 16), ["Server=tcp:h,1433;User ID=sa;Password={s};Encrypt=True"]),
    "basic-header": (word64, ["Authorization: Basic {s}", '{"Authorization": "Basic {s}"}', "curl -H 'authorization: basic {s}'"]),
    "bearer-opaque": (
        lambda r: drawn(r, B62, 40),
        ["Authorization: Bearer {s}", "headers={'Authorization': 'Bearer {s}'}", "Authorization: token {s}"],
    ),
    "curl-user": (
        lambda r: drawn(r, B62, 14),
        ["curl -u admin:{s} https://x", "curl --user 'admin:{s}' https://x", "http -a bob:{s} GET x"],
    ),
    "sshpass": (lambda r: drawn(r, B62, 14), ["sshpass -p '{s}' ssh a@b", "sshpass -p{s} ssh a@b"]),
    "mysql-flag": (lambda r: drawn(r, B62, 12), ["mysql -u root -p{s} app", "mysqldump -h db -uroot -p'{s}' app"]),
    "flag": (
        lambda r: drawn(r, B62, 24),
        ["tool --password {s}", "tool --api-key={s}", "tool --token '{s}' run", '["--client-secret", "{s}"]'],
    ),
    "netrc": (
        lambda r: drawn(r, B62, 20),
        ["machine api.acme.io login bot password {s}", "machine a.b\n  login bot\n  password {s}\n"],
    ),
    "pgpass": (lambda r: drawn(r, B62, 16), ["db.acme.io:5432:prod:app:{s}", "cat ~/.pgpass\n*:*:*:postgres:{s}\n"]),
    "env-password": (
        lambda r: drawn(r, SIGNS, 14),
        ["DB_PASSWORD={s}", "export PGPASSWORD={s}\npsql", "MYSQL_ROOT_PASSWORD='{s}'", "- POSTGRES_PASSWORD={s}"],
    ),
    "yaml-password": (lambda r: drawn(r, B62, 16), ["db:\n  password: {s}\n", "password: '{s}'", 'smtp_password: "{s}"']),
    "json-password": (lambda r: drawn(r, SIGNS, 14), ['{"password": "{s}", "user": "x"}', '{\\"dbPassword\\":\\"{s}\\"}']),
    "toml-secret": (lambda r: drawn(r, B62, 32), ['secret_key = "{s}"', "SECRET_KEY_BASE={s}"]),
    "properties": (lambda r: drawn(r, B62, 14), ["spring.datasource.password={s}\n"]),
    "code": (
        lambda r: drawn(r, B62, 20),
        ['password = "{s}"', 'const apiKey: string = "{s}";', "client_secret: '{s}',", 'String secret = "{s}";'],
    ),
    "prose": (
        lambda r: drawn(r, B62, 12),
        [
            "the password is {s}",
            "my api key: {s}",
            "The root password for staging is `{s}`.",
            "password was changed to {s}, thanks",
        ],
    ),
    "k8s": (
        lambda r: base64.b64encode(drawn(r, B62, 18).encode()).decode(),
        [
            "kind: Secret\ndata:\n  api-token: {s}",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  dsn: {s}\n  other: {s}\n",
        ],
    ),
    "cookie": (
        lambda r: drawn(r, URL64, 40),
        ["Cookie: theme=dark; session={s}", "Set-Cookie: sid={s}; Path=/; HttpOnly", "PHPSESSID={s}"],
    ),
    "sql": (lambda r: drawn(r, B62, 14), ["CREATE USER app IDENTIFIED BY '{s}';", "ALTER ROLE app WITH PASSWORD '{s}';"]),
    "xml": (lambda r: drawn(r, B62, 16), ["<password>{s}</password>", '<add key="ApiKey" value="{s}"/>']),
    "k8s-env": (lambda r: drawn(r, B62, 24), ["- name: API_KEY\n  value: {s}\n", '{"name": "DB_PASSWORD", "value": "{s}"}']),
    "redis-conf": (lambda r: drawn(r, B62, 24), ["requirepass {s}", "redis-cli -h h -a {s} ping"]),
    "sudo": (lambda r: drawn(r, B62, 12), ["echo '{s}' | sudo -S true", "echo {s} | docker login -u a --password-stdin"]),
    "pem-tail": (
        lambda r: pem(r, "RSA PRIVATE KEY", 5).split("\n", 3)[3].split("\n-----END")[0],
        ["{s}\n-----END RSA PRIVATE KEY-----\n", "$ tail -3 id_rsa\n{s}\n-----END PRIVATE KEY-----"],
    ),
    "shell-variable": (
        lambda r: drawn(r, B62, 24),
        [
            "FROM python:3.12\nENV DB_PASSWORD {s}\nRUN true",
            "set -x GITHUB_TOKEN {s}",
            "set -Ux OPENAI_API_KEY '{s}'",
            "setenv API_TOKEN {s}",
            "git config set user.password {s}",
        ],
    ),
    "auth-pair": (
        lambda r: drawn(r, B62, 12),
        [
            'requests.get(url, auth=("admin", "{s}"))',
            "auth = ('svc', '{s}')",
            'HTTPBasicAuth("admin", "{s}")',
            "smtp.login('me@acme.io', '{s}')",
        ],
    ),
    "key-passphrase": (
        lambda r: drawn(r, B62, 14),
        ["ssh-keygen -t ed25519 -N '{s}' -f deploy", "ssh-keygen -p -P {s} -f deploy", "ssh-keygen -q -N {s} -f deploy"],
    ),
    "archive": (lambda r: drawn(r, B62, 12), ["unzip -P {s} dump.zip", "zip -r -P '{s}' out.zip src", "unrar x -p{s} dump.rar"]),
    "tool-login": (lambda r: drawn(r, HEX, 40), ["wandb login {s}", "wandb login --relogin {s}", "ngrok config add-authtoken {s}"]),
    "chat-webhook": (
        lambda r: drawn(r, LOWER, 26),
        [
            "curl -d @x https://chat.acme.io/hooks/{s}",
            "https://webexapis.com/v1/webhooks/incoming/{s}",
            "https://events.pagerduty.com/integration/{s}/enqueue",
            "https://hook.eu1.make.com/{s}",
        ],
    ),
    "password-word": (
        lambda r: drawn(r, B62, 8) + drawn(r, string.digits, 3),
        [
            "pw: {s}",
            "PW is {s}",
            "das Kennwort ist {s}",
            "la contraseña es {s}",
            "mot de passe : {s}",
            "a senha é {s}",
            "密码是{s}",
            "密码：{s}",
            "パスワードは{s}です",
            "пароль: {s}",
            "Zugangsdaten: admin / {s}",
            "user admin, password {s}",
        ],
    ),
    "given-password": (
        lambda r: drawn(r, B62, 8) + drawn(r, string.digits, 3),
        [
            "use {s} as the password",
            "Please use `{s}` as your new password for staging.",
            "nimm {s} als Passwort",
            "usa {s} como contraseña",
            "utilise {s} comme mot de passe",
            "use {s} como senha",
            "用 {s} 作为密码",
            "{s}をパスワードに",
            "используй {s} как пароль",
        ],
    ),
    "told-anywhere": (
        lambda r: drawn(r, B62, 9) + drawn(r, string.digits, 2),
        [
            "hasło to {s}",
            "şifre {s}",
            "كلمة المرور هي {s}",
            "पासवर्ड {s} है",
            "lösenordet är {s}",
            "adgangskoden er {s}",
            "salasana on {s}",
            "a jelszó {s}",
            "Пароль сервера {s}",
            "ο κωδικός είναι {s}",
            "הסיסמה היא {s}",
            "mật khẩu là {s}",
            "รหัสผ่านคือ {s}",
            "kata sandinya {s}",
            "رمز عبور {s} است",
            "паролата е {s}",
            "lozinka je {s}",
            "slaptažodis yra {s}",
            "nenosiri ni {s}",
            "Password for root:\n{s}",
            "pw:\n\n    {s}",
            "pass word = {s}",
            "I changed the password from {s} to the new one",
            "Log in with password {s} on staging.",
            "creds are bob/{s}",
            'unlock it with "{s}"',
            "ansible_become_pass: {s}",
            "the line db.x:5432:app:bob:{s} of .pgpass",
        ],
    ),
    "recovery-code": (
        lambda r: drawn(r, LOWER, 4) + drawn(r, string.digits, 1) + "-" + drawn(r, LOWER, 5),
        ["recovery code {s}", "Backup codes:\n1. {s}\n", "my 2FA recovery code is {s}."],
    ),
    "told-by-a-person": (
        lambda r: r.choice(("gatito$Verde", "Kirsebaer-", "sakuraFubuki", "zimniyVecher_")) + drawn(r, "23456789", 3),
        [
            "数据库密码是 {s}",
            "la contraseña del router es {s}",
            "log in with user admin and pass {s}",
            "пароль от базы: {s}",
            "adgangskoden er {s}",
            "パスワードは「{s}」です",
            "hasło do bazy to {s}",
            "a senha do servidor é {s}",
        ],
    ),
    "totp-seed": (lambda r: drawn(r, BASE32, 32), ["the TOTP seed is {s}", "2FA secret: {s}"]),
    "sentry-dsn": (lambda r: drawn(r, HEX, 32), ["https://{s}@o123456.ingest.sentry.io/42"]),
    "token-behind-a-stand-in": (
        lambda r: drawn(r, B62, 23) + drawn(r, string.digits, 1),
        ["xoxb-1234567890-1234567890123-{s}", "https://hooks.slack.com/services/T00000000/B00000000/{s}"],
    ),
    "query-key": (lambda r: drawn(r, B62, 31) + drawn(r, string.digits, 1), ["curl 'https://x/?key={s}'"]),
}


def positives(rounds: int) -> Iterator[tuple[str, str, str]]:
    """The kind, text and secret for each text of each kind, ``rounds`` times; always the same secrets."""
    for kind, (make, places) in KINDS.items():
        rng = random.Random(kind)
        for _ in range(rounds):
            for place in places:
                secret = make(rng)
                yield kind, place.replace("{s}", secret), secret
