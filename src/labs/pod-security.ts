/** The level of the Pod Security Standards that a lab's namespace enforces: the strictest that admits its pod. Pure. */
import type { Config } from '../config/schema.ts'
import { mountedVolumes } from './volumes.ts'

type Lab = Config['lab']

/** Strictest first. */
export const levels = ['restricted', 'baseline', 'privileged'] as const
export type PodSecurityLevel = (typeof levels)[number]

const prefix = 'pod-security.kubernetes.io'
const appArmor = 'container.apparmor.security.beta.kubernetes.io/'

/**
 * The strictest level that admits a lab's pod.
 * @param provisioning the init container; undefined for a user who was provisioned
 */
export function neededLevel(lab: Lab, provisioning: Lab['provisioning']): PodSecurityLevel {
  const volumes = mountedVolumes(lab, provisioning)
  const unconfined = Object.entries(lab.annotations).some(
    ([key, value]) => key.startsWith(appArmor) && value === 'unconfined',
  )
  if (provisioning?.privileged || unconfined || volumes.some(({ hostPath }) => hostPath)) return 'privileged'
  if (provisioning?.runAsRoot || volumes.some(({ nfs }) => nfs)) return 'baseline'
  return 'restricted'
}

export const isStricter = (level: PodSecurityLevel, other: PodSecurityLevel): boolean =>
  levels.indexOf(level) < levels.indexOf(other)

/** Labels of a lab's namespace. The API server refuses every pod beyond the level, also pods of other clients. */
export function podSecurityLabels(lab: Lab, provisioning: Lab['provisioning']): Record<string, string> {
  const level = lab.podSecurity ?? neededLevel(lab, provisioning)
  return { [`${prefix}/enforce`]: level, [`${prefix}/warn`]: 'restricted', [`${prefix}/audit`]: 'restricted' }
}
