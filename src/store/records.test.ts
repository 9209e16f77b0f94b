import { describe, expect, test } from 'vitest'
import type { LabView } from '../base/domain.ts'
import { encodeEvents, encodeFields, type LabFields, labForm, parseEvent, parseRecord, readView } from './records.ts'

const resources = { cpu: 1, memory: 2 ** 30 }
const view: LabView = {
  username: 'ada',
  options: { size: 'small' },
  env: { A: 'b' },
  uid: 1,
  gid: 2,
  groups: [],
  quotas: { limits: resources, requests: resources },
  internalUrl: 'http://nb-ada',
}

const flat = (fields: Record<string, string>) => Object.entries(fields).flat()

describe('parseRecord', () => {
  test('reads `remains` only of the record’s own operation', () => {
    const fields = { op: '7', kind: 'create', status: 'failed' }
    expect(parseRecord(flat({ ...fields, remains: '7' }), 'ada')).toMatchObject({ remains: true })
    expect(parseRecord(flat({ ...fields, remains: '6' }), 'ada')).toMatchObject({ remains: false })
  })

  test.each([
    ['of the record’s own operation', '7 1795289101344', 1795289101344],
    ['of an earlier operation', '6 1795289101344', undefined],
    ['without a time', '7 ', undefined],
    ['with a time that is none', '7 1e3', undefined],
    ['that is absent', undefined, undefined],
  ])('reads `cull` %s', (_, cull, culledMs) => {
    const fields = { op: '7', kind: 'delete', status: 'terminating', ...(cull !== undefined && { cull }) }
    expect(parseRecord(flat(fields), 'ada')!.culledMs).toBe(culledMs)
  })

  test('reads each field of a hash in its type', () => {
    const fields = {
      ...{ op: '1795289101344123', kind: 'create', status: 'pending', active: '1', nonce: 'n', token: 't' },
      ...{
        claims: '2',
        attempts: '1',
        acting: '1',
        step: 'make.pod',
        seq: '7',
        progress: '40',
        acceptedAt: '5',
        failedAt: '6',
      },
      ...{ plan: 'v1.sealed', nsUid: 'ns-uid', podUid: 'pod-uid', pod: '1', failing: 'no room' },
      miscounted: 'quota-uid',
      credential: 'v1.token',
      view: JSON.stringify(view),
    }
    expect(parseRecord(flat(fields), 'ada')).toEqual({
      ...{ op: 1795289101344123, kind: 'create', status: 'pending', active: true, nonce: 'n', token: 't' },
      ...{
        claims: 2,
        attempts: 1,
        acting: true,
        step: 'make.pod',
        seq: 7,
        progress: 40,
        acceptedAtMs: 5,
        failedAtMs: 6,
        view,
      },
      ...{ sealedPlan: 'v1.sealed', namespaceUid: 'ns-uid', podUid: 'pod-uid', podPresent: true, failing: 'no room' },
      miscounted: 'quota-uid',
      credential: 'v1.token',
      remains: false,
    })
  })

  test('reads a record with only an op as one without an operation', () => {
    expect(parseRecord(['op', '5', 'plan', '', 'podUid', ''], 'ada')).toMatchObject({
      ...{ op: 5, active: false, token: '', step: '', seq: 0, failedAtMs: 0, podPresent: false },
      ...{ sealedPlan: undefined, namespaceUid: undefined, podUid: undefined, failing: undefined },
      remains: false,
    })
  })

  test('returns null without an op', () => {
    expect(parseRecord([], 'ada')).toBeNull()
    expect(parseRecord(['status', 'running'], 'ada')).toBeNull()
  })

  test.each([undefined, '', 'no JSON', '{}', '{"username":"ada"}'])('reads the view %j as a blank one', text => {
    expect(readView(text, 'ada')).toMatchObject({ username: 'ada', env: {}, internalUrl: '' })
    expect(parseRecord(flat({ op: '1', ...(text !== undefined && { view: text }) }), 'ada')!.view.username).toBe('ada')
  })
})

describe('encodeFields', () => {
  test('writes the names and forms that parseRecord reads', () => {
    const fields = {
      ...{ step: 'start', attempts: 3, progress: 55, namespaceUid: 'ns-uid', podUid: 'pod-uid', podPresent: true },
      ...{ failing: 'why', view, credential: 'v1.token' },
    } satisfies LabFields
    const written: string[] = JSON.parse(encodeFields(fields, labForm.names))
    expect(written.every(each => typeof each === 'string')).toBe(true)
    expect(parseRecord(['op', '1', ...written], 'ada')).toMatchObject(fields)
    expect(encodeFields({ acting: false, podPresent: false }, labForm.names)).toBe('["acting","0","pod","0"]')
    expect(encodeFields({}, {})).toBe('[]')
  })

  test.each(['op', 'token', 'active', 'seq', 'epoch', 'status', 'deadline', 'plan', 'cull'])(
    'refuses the field %s',
    field => {
      expect(() => encodeFields({ [field]: '1' }, {})).toThrow(`no step may set the field ${field}`)
      expect(() => encodeFields({ mine: '1' }, { mine: field })).toThrow(`no step may set the field ${field}`)
    },
  )

  test.each(['\ud83d', 'cut \ud83d', '\ude00 cut', '\0 "\\ é'])(
    'and encodeEvents write well-formed text: %j',
    words => {
      const [[type, data]] = JSON.parse(encodeEvents([['error', words]]))
      expect([type, data]).toEqual(['error', words.toWellFormed()])
      expect(JSON.parse(encodeFields({ failing: words }, {}))).toEqual(['failing', words.toWellFormed()])
    },
  )
})

test('parseEvent reads the entries of a stream', () => {
  const entries: [string, string[]][] = [
    ['5-1', ['event', 'info', 'data', 'begun']],
    ['5-2', ['event', 'complete', 'data', 'up']],
  ]
  expect(entries.map(parseEvent)).toEqual([
    { id: '5-1', event: 'info', data: 'begun' },
    { id: '5-2', event: 'complete', data: 'up' },
  ])
})
