/**
 * The first step of a deletion that was requested because nobody used the lab: it stamps the pod, so that people and programs
 * that watch pods see why it ends. Only a courtesy: whatever refuses or prevents it, the deletion goes on.
 */
import { RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { stampOf, stamps } from '../kube/labels.ts'
import { podRef } from './cluster.ts'
import type { LabContext, LabResult, LabStep } from './lab-context.ts'

/** @param culledMs when it was requested, by Redis' clock: a repetition writes the same */
export const stampStep = (culledMs: number): LabStep => ({
  name: 'stamp',
  kind: 'act',
  progress: 1,
  run: context => stampPod(context, culledMs),
})

async function stampPod(context: LabContext, culledMs: number): Promise<LabResult> {
  const { kube, known, names } = context
  if (!known.podUid) return 'nothing'
  const pod = { ...podRef(names.namespace, names.lab), uid: known.podUid }
  const patch = { metadata: { annotations: { [stamps.stopped]: stampOf(culledMs) } } }
  await context.failpoint('before-act')
  try {
    await kube.patch(pod, patch, { ...context.call(), mayBeRefused: true })
  } catch (error) {
    if (!(error instanceof KubeError || error instanceof RetryLater)) throw error
    context.call().log.info({ reason: error.message }, 'the pod of an idle lab was not stamped')
  }
  await context.failpoint('after-act')
  return 'nothing'
}
