/** How the image starts Node, for less memory. Replicas that `dev/` starts are started alike; docs/deploy.md explains it. */

/** Options of V8. Neither changes compiled code, so the Dockerfile need not compile with them. */
const nodeOptions = ['--max-old-space-size=512', '--max-semi-space-size=8']
/** The environment of the process. Node permits these options in `NODE_OPTIONS`, so operators can change them. */
export const nodeEnv: Readonly<Record<string, string>> = {
  NODE_OPTIONS: nodeOptions.join(' '),
  MALLOC_ARENA_MAX: '2',
}
