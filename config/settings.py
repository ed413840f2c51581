"""Settings of the project. Every outside value comes through `config.environment` (see docs/settings.md)."""

from __future__ import annotations

from pathlib import Path

import dj_database_url
from django.utils.csp import CSP

from config import environment

BASE_DIR = Path(__file__).resolve().parent.parent
VAR = Path(
    environment.text("CUTLINE_VAR", str(BASE_DIR / "var"), "Folder for the embedded database, key and static files.")
)

_database_url = environment.text(
    "DATABASE_URL", "", "PostgreSQL or SQLite address; unset means embedded SQLite in CUTLINE_VAR."
)
_pool = environment.flag(
    "CUTLINE_DB_POOL",
    False,
    "1 pools PostgreSQL connections in a threaded web process (never in prefork workers) and prepares statements.",
)
REDIS_URL = environment.text("REDIS_URL", "", "Valkey/Redis address; unset means no broker: the embedded worker polls.")
EMBEDDED = not _database_url
if EMBEDDED:
    # The first connection makes the database's file, but not its folder.
    environment.folder(VAR)

DEBUG = environment.flag("CUTLINE_DEBUG", False, "1 shows tracebacks; for developers only.")
SECRET_KEY = environment.secret_key(VAR, embedded=EMBEDDED)
ALLOWED_HOSTS = environment.words(
    "CUTLINE_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", "Host names the site answers to."
)
CSRF_TRUSTED_ORIGINS = environment.words(
    "CUTLINE_TRUSTED_ORIGINS", "", "Origins (scheme://host) trusted behind a proxy."
)
HTTPS = environment.flag("CUTLINE_HTTPS", not EMBEDDED, "1 marks cookies secure, redirects to HTTPS and sends HSTS.")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "ledger",
    "annotate",
    "evaluation",
    "config",
]

MIDDLEWARE = [
    "config.health.HealthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "annotate.middleware.RefusalMiddleware",
    "evaluation.middleware.HeldOutMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotate.context.page",
            ],
        },
    }
]

# SQLite: writers queue at BEGIN IMMEDIATE instead of failing at COMMIT; recursive_triggers lets the triggers that
# protect immutable rows see REPLACE as the delete it is.
_SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA recursive_triggers=ON; PRAGMA foreign_keys=ON;"
    ),
}
DATABASES = {"default": dj_database_url.parse(_database_url or f"sqlite:///{VAR / 'cutline.sqlite3'}")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = dict(_SQLITE_OPTIONS)
else:
    # Values travel apart from the statement, so that a statement can be prepared. Everywhere, the tests included: how a
    # value's type is found differs, and nothing should meet that first in production.
    _options = DATABASES["default"].setdefault("OPTIONS", {})
    _options["server_side_binding"] = True
    if _pool:
        # psycopg's pool refuses persistent Django connections: these settings live here, together. A statement is
        # prepared once a connection has seen it five times, which takes a third off the database's part of a save.
        DATABASES["default"]["CONN_MAX_AGE"] = 0
        _options |= {"pool": {"min_size": 1, "max_size": 8}, "prepare_threshold": 5}

AUTH_USER_MODEL = "annotate.Person"
AUTHENTICATION_BACKENDS = ["annotate.sign_in.SignIn"]
SESSION_ENGINE = "annotate.sign_in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"

# Enforced, never report-only: a source text is somebody else's bytes.
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
if environment.flag("CUTLINE_BEHIND_PROXY", False, "1 trusts X-Forwarded-Proto from the proxy in front."):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024
# A pass of 5,000 spans sends a label, a name and its sets for each; the bytes are what is limited.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 100_000
FILE_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = Path(
    environment.text("CUTLINE_STATIC", str(VAR / "static"), "Folder that `collectstatic` fills and the site serves.")
)
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "config.static.HashedStaticFiles"
    },
}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REST_FRAMEWORK = {
    # JSON only: the browsable page carries inline scripts the CSP forbids.
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    # Deny by default: every endpoint names its own permission.
    "DEFAULT_PERMISSION_CLASSES": ["annotate.permissions.Nobody"],
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

LEASE_SECONDS = environment.integer(
    "CUTLINE_LEASE_SECONDS", 120, "A claimed cell returns to the queue after this long without renewal.", minimum=5
)
CELL_HARD_LIMIT_SECONDS = environment.integer(
    "CUTLINE_CELL_HARD_LIMIT", 1800, "A Celery task is killed after this long.", minimum=60
)
MAX_ATTEMPTS = environment.integer("CUTLINE_MAX_ATTEMPTS", 3, "A cell that failed this often stays failed.", minimum=1)
MAX_SOURCE_BYTES = environment.integer(
    "CUTLINE_MAX_SOURCE_BYTES", 16 * 1024 * 1024, "Largest source version accepted, in bytes.", minimum=1024
)
PLUGINS_ALLOWED = environment.words("CUTLINE_PLUGINS", "", "Entry-point names of third-party plug-ins that may load.")
FOREIGN_SPLITTERS_ALLOWED = environment.words(
    "CUTLINE_FOREIGN_SPLITTERS", "", "Further splitter classes that plans may name, as package.module:Class."
)
RETRIEVAL_HOSTS_ALLOWED = environment.words(
    "CUTLINE_RETRIEVAL_HOSTS", "", "Hosts that plans may name as HTTP retrievers, as host or host:port."
)
RETRIEVAL_TOKENS = environment.tokens(
    "CUTLINE_RETRIEVAL_TOKENS", "Tokens for HTTP retrievers, as host=token or host:port=token."
)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}

# Celery is the doorbell of the queue, which is in the database (config/celery.py, docs/architecture.md).
CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_IGNORE_RESULT = True  # the database has the results; a result backend would only fill up
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # a ring taken by a busy child is a ring an idle one does not hear
# Acknowledged before it runs: a killed child then loses a ring and nothing else, the lease brings the cell back. With
# late acks a worker whose broker goes away mid-task dies inside kombu.
CELERY_TASK_ACKS_LATE = False
# The last resort against a hanging cell. A task drains cells for at most WORK_SLICE_SECONDS and then lets go, so the
# limit is about one cell; the soft one comes first and leaves time to write the failed attempt down.
CELERY_TASK_TIME_LIMIT = CELL_HARD_LIMIT_SECONDS
CELERY_TASK_SOFT_TIME_LIMIT = CELL_HARD_LIMIT_SECONDS - 30
WORK_SLICE_SECONDS = 30
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Longer than the hard limit, or Redis would deliver a running task a second time (check cutline.E001).
    "visibility_timeout": CELL_HARD_LIMIT_SECONDS + 600,
    "socket_connect_timeout": 2,  # a dead broker holds up a commit hook this long, not half a minute
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# A child is replaced after so many slices: what a plug-in leaks does not outlive it.
CELERY_WORKER_MAX_TASKS_PER_CHILD = 500
