"""Routes of the annotator's workspace."""

from django.urls import URLPattern, URLResolver, path

from annotate.views import workspace, workspace_source

urlpatterns: list[URLPattern | URLResolver] = [
    path("<int:pk>/", workspace.workspace, name="workspace"),
    path("<int:pk>/blocks/", workspace_source.blocks, name="workspace-blocks"),
    path("<int:pk>/layout/", workspace_source.layout, name="workspace-layout"),
    path("<int:pk>/find/", workspace_source.find_in_source, name="workspace-find"),
    path("<int:pk>/sources/", workspace_source.find_sources, name="workspace-sources"),
    path("<int:pk>/moves/", workspace_source.moves, name="workspace-moves"),
    path("<int:pk>/original/", workspace_source.original, name="workspace-original"),
]
