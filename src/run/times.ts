/** Times that follow from others, and that more than one part goes by. In milliseconds. */
import type { Config } from '../config/schema.ts'

/** The longest request to Kubernetes that a former owner may still have in flight. */
export const longestRequestMs = ({ kubernetes }: Config): number => kubernetes.requestTimeoutSeconds * 1000

/** How long former owners may act on what a Redis just restarted was found to hold. */
export const holdMs = (config: Config): number => config.engine.leaseTtlMs + longestRequestMs(config)
