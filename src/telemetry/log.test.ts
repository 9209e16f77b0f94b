import { expect, it } from 'vitest'
import { createLogger } from './log.ts'

function capture() {
  const lines: string[] = []
  const log = createLogger({ level: 'info', replica: 'r1', destination: { write: line => void lines.push(line) } })
  return { log, line: () => JSON.parse(lines.at(-1)!), text: () => lines.join('') }
}

it('createLogger writes one object per line, with the replica and the name of the level', () => {
  const { log, line } = capture()
  log.child({ user: 'ada', op: 7 }).info({ step: 'pod' }, 'step done')
  expect(line()).toMatchObject({ level: 'info', replica: 'r1', user: 'ada', op: 7, step: 'pod', msg: 'step done' })
})

it('createLogger hides secrets down to the third level, in lines and in children', () => {
  const { log, text } = capture()
  const secrets = { token: 'hunter2', authorization: 'hunter2', Authorization: 'hunter2', env: { A: 'hunter2' } }
  log.info(secrets, 'x')
  log.info({ a: secrets }, 'x')
  log.info({ a: { b: secrets } }, 'x')
  log.child(secrets).info('x')
  log
    .child({ a: secrets })
    .child({ b: { c: secrets } })
    .info('x')
  log.info({ list: [{ token: 'hunter2' }], json: { toJSON: () => ({ token: 'hunter2' }) } }, 'x')
  log.info({ cause: Object.assign(new Error('x'), { token: 'hunter2' }) }, 'x')
  log.info({ headers: { 'x-auth-request-token': 'hunter2' }, plan: 'hunter2' }, 'x')
  expect(text()).not.toMatch(/hunter2/)
})

it('createLogger leaves the fields of a caller, and those without secrets, as they are', () => {
  const { log, line } = capture()
  const fields = {
    token: 'hunter2',
    a: { b: { c: { token: 'deep' } } },
    list: [1, { env: 'x' }],
    none: undefined,
    zero: 0,
  }
  log.info(fields, 'x')
  expect(fields).toMatchObject({ token: 'hunter2', list: [1, { env: 'x' }] })
  expect(line()).toMatchObject({ token: '***', a: { b: { c: { token: 'deep' } } }, list: [1, { env: '***' }], zero: 0 })
  log.info({ at: new Date(0), err: undefined }, 'x')
  expect(line()).toMatchObject({ at: '1970-01-01T00:00:00.000Z' })
})

it('createLogger writes an error’s message, not its other properties', () => {
  const { log, line, text } = capture()
  const cause = Object.assign(new Error('ECONNRESET while reading'), { code: 'ECONNRESET' })
  log.error(
    { err: Object.assign(new Error('no answer', { cause }), { command: { args: ['hunter2'] }, token: 'hunter2' }) },
    'failed',
  )
  expect(line().err).toMatchObject({ message: 'no answer', cause: { code: 'ECONNRESET' } })
  expect(text()).not.toMatch(/hunter2/)
})

it('createLogger omits advice of Node that operators of an image cannot follow', () => {
  const { log, line, text } = capture()
  const advice = '; if the root CA is installed locally, try running Node.js with --use-system-ca'
  const cause = new Error(`unable to verify the first certificate${advice}`)
  log.error({ err: new Error('no answer', { cause }) }, 'failed')
  expect(line().err.cause.message).toBe('unable to verify the first certificate')
  expect(text()).not.toContain('use-system-ca')
})
