"""Actions of the evaluation app, added to the one permission map."""

from annotate.domain.vocabulary import Role
from annotate.permissions import declare, has_role

declare("plan.view", has_role(Role.LEAD, Role.OBSERVER))
declare("plan.write", has_role(Role.LEAD))
declare("plan.lock", has_role(Role.LEAD))
declare("sweep.start", has_role(Role.LEAD))
declare("sweep.cancel", has_role(Role.LEAD))
declare("results.view", has_role(Role.LEAD, Role.OBSERVER))
declare("release.view", has_role(Role.LEAD, Role.OBSERVER))
declare("release.sign", has_role(Role.LEAD))
