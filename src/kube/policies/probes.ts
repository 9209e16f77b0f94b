/** Asks whether admission policies are in force: by requests that they must refuse. */
import { inOperatorsWords, KubeError, refuserOf } from '../client.ts'

/** A request that exactly one policy refuses: a dry run. */
export interface Probe {
  /** The policy; its binding has the same name. */
  readonly policy: string
  readonly ask: () => Promise<unknown>
  /** The probe in words, for the case that it is not refused. */
  readonly accepted: string
}

/** The result of a check. */
export interface PolicyAnswer {
  /** True if all policies are enforced; null if the account lacks the rights to find out. */
  readonly active: boolean | null
  /** Why they are not, or what they wrongly refuse; null if all is well. */
  readonly reason: string | null
  /** Rights that the account lacks, in words; empty if the API server does not list rights. */
  readonly missing: readonly string[]
}

/** The answer to a probe: null if its policy refused it; the error of another refusal; what was accepted. */
export type ProbeResult = KubeError | string | null

/**
 * Sends a probe.
 * @throws {RetryLater} when the API server does not answer
 */
export async function resultOf({ policy, ask, accepted }: Probe): Promise<ProbeResult> {
  const answer = await answerTo(ask)
  return isRefusedBy(answer, policy) ? null : (answer ?? accepted)
}

/** Returns the refusal; undefined if the request was accepted. */
export async function answerTo(ask: () => Promise<unknown>): Promise<KubeError | undefined> {
  try {
    await ask()
    return undefined
  } catch (error) {
    if (error instanceof KubeError) return error
    throw error
  }
}

/** Checks the message too: missing rights, quotas and other policies refuse with the same status. */
const isRefusedBy = (answer: KubeError | undefined, policy: string): boolean =>
  answer?.status === 403 && answer.message.includes(`ValidatingAdmissionPolicy '${policy}' `)

/** The refusal of an account without rights, before any policy is evaluated; undefined if there is another reason. */
export function withoutRights(results: readonly (ProbeResult | undefined)[]): string | undefined {
  const refused = results.find(result => result instanceof KubeError && refuserOf(result) === 'rights')
  return refused instanceof KubeError ? inOperatorsWords(refused) : undefined
}

/** The first probe that no policy refused, in words; undefined if all were. */
export function looseIn(results: readonly ProbeResult[], account: string): string | undefined {
  const loose = results.find(result => result !== null)
  return loose instanceof Error ? loose.message : loose && `${loose} was accepted from ${account}`
}
