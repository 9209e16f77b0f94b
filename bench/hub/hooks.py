"""
kubespawner made to create the objects of Skylab's labs: a namespace for each user, and in it all that a lab has beside
its pod. The Hub sends them by kubespawner's own client, those of one lab at once.
"""

import asyncio

from kubernetes_asyncio.client import ApiException
from kubespawner.clients import shared_client

account_poll_s = 0.1


def configure(c, labs):
    """`labs` has by user `namespace`, whose labels and annotations count, and `objects` without the pod."""

    def before(spawner):
        metadata = labs[spawner.user.name]["namespace"]["metadata"]
        spawner.user_namespace_labels = literal(metadata["labels"])
        spawner.user_namespace_annotations = literal(metadata["annotations"])

    async def make_objects(spawner, pod):
        """kubespawner has made the namespace, and now sends the pod."""
        makers = makers_of(spawner)
        objects = labs[spawner.user.name]["objects"]
        await asyncio.gather(*(makers[each["kind"]](spawner.namespace, each) for each in objects))
        await account_of(spawner)
        return pod

    async def remove(spawner):
        await spawner.api.delete_namespace(spawner.namespace)

    c.KubeSpawner.enable_user_namespaces = True
    # By this label the service selects the pod.
    c.KubeSpawner.component_label = "lab"
    # The namespace enforces the Pod Security Standard that Skylab's labs keep.
    c.KubeSpawner.uid = 1000
    c.KubeSpawner.container_security_context = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    c.KubeSpawner.pre_spawn_hook = before
    c.KubeSpawner.modify_pod_hook = make_objects
    c.KubeSpawner.post_stop_hook = remove


def makers_of(spawner):
    core, networks = spawner.api, shared_client("NetworkingV1Api")
    return {
        "ConfigMap": core.create_namespaced_config_map,
        "Secret": core.create_namespaced_secret,
        "Service": core.create_namespaced_service,
        "NetworkPolicy": networks.create_namespaced_network_policy,
    }


async def account_of(spawner):
    """Waits until the namespace admits pods. kubespawner gives up when a pod is refused."""
    while True:
        try:
            await spawner.api.read_namespaced_service_account("default", spawner.namespace)
            return
        except ApiException as error:
            if error.status != 404:
                raise
        await asyncio.sleep(account_poll_s)


def literal(texts):
    """kubespawner takes the values as templates."""
    return {key: text.replace("{", "{{").replace("}", "}}") for key, text in texts.items()}
