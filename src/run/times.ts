/** Derived times that several parts use, in milliseconds. */
import type { Config } from '../config/schema.ts'

/** The longest request to Kubernetes that a former owner may still have in flight. */
export const longestRequestMs = ({ kubernetes }: Config): number => kubernetes.requestTimeoutSeconds * 1000

/** How long former owners may still act on operations that were found in a restarted Redis. */
export const holdMs = (config: Config): number => config.engine.leaseTtlMs + longestRequestMs(config)
