"""Static files with hashed names, ES-module imports rewritten to the hashed names too."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Manifest storage that also follows `import … from` inside our ES modules."""

    support_js_module_import_aggregation = True
