import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { StreamSink } from './audit-sinks.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skylab-audit-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('StreamSink', () => {
  it('appends at once to a file that only its owner may read', async () => {
    const file = join(folder, 'audit.log')
    await writeFile(file, 'before\n')
    await chmod(file, 0o600)
    const sink = new StreamSink('audit.file', file)
    sink.write('one\n')
    expect(await readFile(file, 'utf8')).toBe('before\none\n')
    new StreamSink('audit.file', join(folder, 'new.log')).write('two\n')
    expect((await stat(join(folder, 'new.log'))).mode & 0o777).toBe(0o600)
  })

  it('throws for each line that a full device refuses', () => {
    const sink = new StreamSink('audit.file', '/dev/full')
    expect(() => sink.write('one\n')).toThrow(/ENOSPC/)
    expect(() => sink.write('two\n')).toThrow(/ENOSPC/)
  })

  it('throws for each line once there is no reader', async () => {
    const program = `
      import { StreamSink } from ${JSON.stringify(new URL('./audit-sinks.ts', import.meta.url).href)}
      const sink = new StreamSink('stdout', 1)
      process.stdin.once('data', () => {
        const thrown = []
        for (let i = 0; i < 3; i++) try { sink.write('line\\n') } catch (error) { thrown.push(error.code) }
        process.stderr.write(thrown.join())
        process.exit()
      })
      process.stderr.write('ready ')
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', program])
    onTestFinished(() => void child.kill())
    let output = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      output += text
      if (output === 'ready ') child.stdin.write('go')
    })
    child.stdout.destroy()
    await once(child, 'close')
    expect(output).toBe('ready EPIPE,EPIPE,EPIPE')
  })
})
