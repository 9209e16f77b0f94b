/** Names of registries, tags and digests, in the forms that a registry takes. Pure. */

/** The registry of Docker Hub goes by all of these names. */
const dockerHub = ['registry.hub.docker.com', 'docker.io', 'index.docker.io', 'registry-1.docker.io']

/** All names of a registry, whichever of them it is configured by. */
export function registryNames(registry: string): readonly string[] {
  return dockerHub.includes(registry) ? dockerHub : [registry]
}

export const tagForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/
export const digestForm = /^sha256:[0-9a-f]{64}$/
