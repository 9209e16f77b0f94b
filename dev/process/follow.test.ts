import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { followLines } from './follow.ts'

test('followLines passes each line on once, when it is complete', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'follow-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'lines')
  writeFileSync(file, 'one\ntw')
  const lines: string[] = []
  const second = Promise.withResolvers<void>()
  const end = followLines(file, line => {
    lines.push(line)
    if (line === 'two') second.resolve()
  })
  expect(lines).toEqual(['one'])
  appendFileSync(file, 'o\n')
  await second.promise
  appendFileSync(file, 'three\nfour')
  end()
  end()
  expect(lines).toEqual(['one', 'two', 'three'])
})
