import { describe, expect, it } from 'vitest'
import { shownContainer } from '../../test/kit/dispatch/shown-container.ts'
import { containerJson } from './json.ts'

const hour = 3_600_000
const json = (change: Parameters<typeof shownContainer>[0], waits = '') =>
  containerJson(shownContainer(change), waits, 3 * hour)

describe('containerJson', () => {
  it('is null where nothing is known yet', () => {
    expect(json({})).toMatchObject({
      ...{ created_at: '1970-01-01T00:00:01.000Z', started_at: null, finished_at: null, exit_code: null, cost: 0 },
      ...{ attempt: 0, runtime_status: {}, scheduling_status: 'The scheduler has not looked at it yet.' },
    })
  })

  it.each([
    [{ state: 'Running', startedMs: hour, pricePerHour: 0.1 }, 0.2],
    [{ state: 'Complete', startedMs: hour, finishedMs: 1.5 * hour, pricePerHour: 0.1 }, 0.05],
    // Queued again: the last run is paid for by nobody who asks now.
    [{ state: 'Queued', startedMs: hour, pricePerHour: 0.1 }, 0],
    // The clock of Redis may be ahead of ours.
    [{ state: 'Running', startedMs: 4 * hour, pricePerHour: 0.1 }, 0],
  ] as const)('costs what its machine costs when it is %j', (change, cost) => {
    expect(json(change).cost).toBe(cost)
  })

  it.each([
    [{ state: 'Queued' }, 'no machine is free', 'no machine is free'],
    [{ state: 'Queued', priority: 0 }, 'x', expect.stringContaining('its priority is 0 and state is Queued')],
    [{ state: 'Locked' }, 'x', expect.stringContaining('booting')],
    [{ state: 'Locked', run: 7 }, 'x', 'Container is allocated to an instance and preparing to run.'],
    [{ state: 'Running' }, 'x', ''],
  ] as const)('says why it waits when it is %j', (change, waits, sentence) => {
    expect(json(change, waits).scheduling_status).toEqual(sentence)
  })

  it.each([
    [{ state: 'Cancelled', cancelled: 'by its owner' }, { error: 'by its owner' }],
    [{ state: 'Cancelled', trouble: 'its machine was lost' }, { error: 'its machine was lost' }],
    [{ state: 'Running', cancelled: 'by its owner' }, { activity: 'It is being stopped: by its owner' }],
    [{ state: 'Queued', trouble: 'its machine was lost' }, { warning: 'its machine was lost' }],
    [{ state: 'Complete', cancelled: 'too late' }, {}],
  ] as const)('says what happened when it is %j', (change, status) => {
    expect(json(change).runtime_status).toEqual(status)
  })
})
