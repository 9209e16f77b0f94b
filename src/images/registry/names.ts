/** Names of registries, tags and digests, in the forms that a registry accepts. Pure. */

/** All names of Docker Hub's registry. */
const dockerHub = ['registry.hub.docker.com', 'docker.io', 'index.docker.io', 'registry-1.docker.io']

/** All names of a registry, whichever of them is configured. */
export function registryNames(registry: string): readonly string[] {
  return dockerHub.includes(registry) ? dockerHub : [registry]
}

export const tagForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/
export const digestForm = /^sha256:[0-9a-f]{64}$/
