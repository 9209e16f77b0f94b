/** How the image starts Node, for less memory. Replicas that `dev/` starts are started alike; docs/deploy.md explains it. */

/** Options of V8. Neither changes compiled code, so the Dockerfile need not compile with them. */
export const nodeOptions: readonly string[] = ['--max-old-space-size=512', '--max-semi-space-size=8']
/** The environment of the process. Node permits these options in `NODE_OPTIONS`, so operators can change them. */
export const nodeEnv: Readonly<Record<string, string>> = {
  NODE_OPTIONS: nodeOptions.join(' '),
  MALLOC_ARENA_MAX: '2',
  // Blocks of 128 KiB and more are given back when they are freed. Otherwise glibc raises this bound up to 32 MiB after the
  // first large block, and pages of lists leave holes of megabytes in its heap.
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
}
