import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { Control } from './control.ts'
import { connectTo } from './state/locks.ts'

it('Control tells the last number when many come before a follower has one', async () => {
  const name = `skylab-control-${randomUUID()}`
  let seq = 0
  const control = new Control({ name, key: 'key', seq: () => seq, onKill: () => {} })
  await control.take()
  const follower = (await connectTo(name))!
  follower.write('{"key":"key","follow":true}\n')
  const [first] = await once(follower, 'data')
  expect(String(first)).toBe('{"seq":0}\n')
  while (seq < 2000) {
    seq += 1
    control.tell(seq)
  }
  for await (const line of createInterface({ input: follower })) if (line === '{"seq":2000}') break
  control.free()
  follower.destroy()
})
