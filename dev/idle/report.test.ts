import { describe, expect, it } from 'vitest'
import { people } from './people.ts'
import type { HubView } from './place.ts'
import { type LabOutcome, renderOutcomes, requireOutcomes } from './report.ts'

const words = 'stopped after 60 s without activity (rule demo)'
const form = `Your last lab was ${words}, on 26 November 2026 at 22:30 UTC.`
const ready: HubView = { state: 'ready', poll: null, form: null }
const gone: HubView = { state: 'stopped', poll: 0, form: null }

/** As all labs must end, with changes to that of one person. */
const labs = (hasHub: boolean, name?: string, change: Partial<LabOutcome> = {}): readonly LabOutcome[] =>
  people.map(({ name: lab, does, isStopped, isIdle }) => ({
    ...{ lab, does, stopped: isStopped, state: isStopped ? 'stopped' : 'active' },
    why: isIdle ? words : 'kept: active by kernels',
    afterSeconds: isStopped ? 72.3 : null,
    hub: hasHub ? (isIdle ? { ...gone, form } : isStopped ? gone : ready) : null,
    ...(lab === name && change),
  }))

describe('requireOutcomes', () => {
  it('accepts the labs as they must end, with a Hub and without', () => {
    for (const hasHub of [true, false]) expect(() => requireOutcomes(labs(hasHub))).not.toThrow()
  })

  it.each<[string, Partial<LabOutcome>, RegExp]>([
    ['ada', { stopped: false }, /the lab of ada was not stopped/],
    ['grace', { stopped: true }, /the lab of grace was stopped/],
    ['ada', { hub: { ...gone, form, poll: 2 } }, /by poll 0 that the lab of ada is gone/],
    ['uma', { hub: { ...gone, poll: null } }, /by poll 0 that the lab of uma is gone/],
    ['ada', { hub: gone }, /the lab form of ada says: null/],
    ['uma', { hub: { ...gone, form } }, /the lab form of uma says: Your last/],
    ['ada', { why: 'stopped after 2 hours' }, /the lab form of ada does not say "stopped after 2 hours"/],
  ])('refuses the lab of %s when it ends with %j', (name, change, refused) => {
    expect(() => requireOutcomes(labs(true, name, change))).toThrow(refused)
  })
})

describe('renderOutcomes', () => {
  it('has a column for the Hub and a line of the form, where there is a Hub', () => {
    const text = renderOutcomes(labs(true))
    expect(text).toMatch(/^lab +what it does +state +at the Hub +stopped +why$/m)
    expect(text).toMatch(/^ada .* stopped +stopped, poll 0 +after 72\.3 s +stopped after 60 s/m)
    expect(text).toMatch(/^grace .* active +ready +no +kept/m)
    expect(text).toContain(`\n\nThe lab form of ada says: ${form}`)
    expect(renderOutcomes(labs(false))).not.toMatch(/Hub|form/)
  })
})
