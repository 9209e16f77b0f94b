/** The program on its way to a machine, against OpenSSH. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { MachineLacks, Unreachable } from './errors.ts'
import { itself, type RunnerProgram, runnerProgram } from './program.ts'
import { type Answer, says } from './testing/liar.ts'
import { errorOf, Site } from './testing/site.ts'
import type { Sshd } from './testing/sshd.ts'

/** Against hanging: processes start late on a busy machine. */
const soon = { timeout: 20_000 }

const site = new Site()
afterEach(site.end)

const script = '#!/bin/sh\necho "0.2.0 $*"\n'
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
const machineHere = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as string] ?? ''
const needed = ['sh', 'gzip', 'sha256sum', 'chmod', 'mv', 'mkdir', 'rm', 'uname', 'cat']

/** Of two files, as Node and its bundle are. */
function someProgram(
  directory: string,
  content: string | Buffer = script,
  over: Partial<RunnerProgram> = {},
): RunnerProgram {
  const file = (name: string, of: string | Buffer) => ({
    ...{ name, bytes: of.length, sha256: sha256(of) },
    open: () => Readable.from([gzipSync(of)]),
  })
  const files = [file('node', content), file('runner.cjs', 'the runner')]
  return { hash: sha256(content), architecture: machineHere, directory, isStanding: false, files, ...over }
}

const folderOf = ({ directory, hash }: RunnerProgram) => join(directory, `skylab~${hash}`)
const directoryOf = (server: Sshd) => join(server.folder, 'lib/it')

describe('install', () => {
  test('puts the program there, and skips it when it stands there whole', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram(directoryOf(server))
    const { command, skipped } = await machine.install(program)
    expect(skipped).toBe(false)
    expect(await machine.exec(`${command} runner attach`)).toMatchObject({
      stdout: `0.2.0 ${folderOf(program)}/runner.cjs runner attach\n`,
    })
    expect(readdirSync(folderOf(program)).toSorted()).toEqual(['node', 'runner.cjs'])
    const open = () => Promise.reject(new Error('copied again')) as never
    const files = program.files.map(file => ({ ...file, open }))
    expect(await machine.install({ ...program, files })).toEqual({ command, skipped: true })
  })

  test('replaces a file with another content, and one that cannot be run', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram(directoryOf(server))
    const folder = folderOf(program)
    await mkdir(folder, { recursive: true })
    writeFileSync(join(folder, 'node'), 'damaged', { mode: 0o755 })
    writeFileSync(join(folder, 'runner.cjs'), 'the runner', { mode: 0o600 })
    expect(await machine.install(program)).toMatchObject({ skipped: false })
    expect(readFileSync(join(folder, 'node'), 'utf8')).toBe(script)
    expect(statSync(join(folder, 'runner.cjs')).mode & 0o777).toBe(0o755)
  })

  test('puts it in a folder whose name a shell would take apart', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const directory = join(server.folder, `it's a $(folder)`)
    const { command } = await machine.install(someProgram(directory))
    expect(await machine.exec(command)).toMatchObject({ exitCode: 0 })
    expect(existsSync(directory)).toBe(true)
  })

  test('lets two put it there at once', async () => {
    const server = await site.sshd()
    const machines = await Promise.all([site.connect(server), site.connect(server)])
    const program = someProgram(directoryOf(server))
    const both = await Promise.all(machines.map(each => each.install(program)))
    expect(both[0]?.command).toBe(both[1]?.command)
    expect(readdirSync(folderOf(program)).toSorted()).toEqual(['node', 'runner.cjs'])
  })

  test('gives no name to a copy that was damaged on its way', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram(directoryOf(server))
    const open = () => Readable.from([gzipSync('something else')])
    const files = program.files.map(file => ({ ...file, open }))
    const error = await errorOf(machine.install({ ...program, files }))
    expect(error).toBeInstanceOf(Unreachable)
    expect(readdirSync(folderOf(program))).toEqual([])
  })

  test('leaves nothing when the connection ends in the middle, and succeeds afterwards', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram(directoryOf(server))
    const folder = folderOf(program)
    const half = new Readable({ read() {} })
    half.push(gzipSync(script).subarray(0, 30))
    const files = program.files.map(file => ({ ...file, open: () => half }))
    const failed = errorOf(machine.install({ ...program, files }))
    await expect
      .poll(() => existsSync(folder) && readdirSync(folder), soon)
      .toEqual([expect.stringMatching(/^\.node\./)])
    server.cut()
    expect(await failed).toBeInstanceOf(Unreachable)
    await expect.poll(() => readdirSync(folder), soon).toEqual([])
    const again = await site.connect(server)
    expect(await again.install(program)).toMatchObject({ skipped: false })
  })

  test('rejects with the reason of its signal, and when it takes too long', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram(directoryOf(server))
    const files = program.files.map(file => ({ ...file, open: () => new Readable({ read() {} }) }))
    const endless = { ...program, files }
    expect(await errorOf(machine.install(endless, { timeoutMs: 300 }))).toBeInstanceOf(Unreachable)
    const reason = new Error('stopped')
    const signal = AbortSignal.abort(reason)
    expect(await errorOf(machine.install(endless, { signal }))).toBe(reason)
  })
})

describe('install says what a machine lacks', () => {
  const lacks = async (server: Sshd, over: Partial<RunnerProgram> = {}, content: string | Buffer = script) => {
    const machine = await site.connect(server)
    const error = await errorOf(machine.install(someProgram(directoryOf(server), content, over)))
    expect(error).toBeInstanceOf(MachineLacks)
    return error.message
  }

  test.each(['gzip', 'sha256sum'])('when it has no %s', async tool => {
    const server = await site.sshd({ tools: needed.filter(each => each !== tool) })
    expect(await lacks(server)).toBe(`the machine lacks ${tool}, needed to install the program`)
  })

  test('and nothing when it has these tools alone', async () => {
    const server = await site.sshd({ tools: needed })
    const machine = await site.connect(server)
    await machine.install(someProgram(directoryOf(server)))
  })

  test('when it is of another architecture', async () => {
    const message = await lacks(await site.sshd(), { architecture: 'riscv64' })
    expect(message).toBe(`the machine's architecture is ${machineHere}, and the program is for riscv64`)
  })

  test('when its folder cannot be made', async () => {
    const server = await site.sshd()
    expect(await lacks(server, { directory: join(server.folder, 'secret/it') })).toMatch(
      /^the program cannot be copied: mkdir: .*Not a directory/,
    )
  })

  test('when its copy ends before there was any input', async () => {
    const fails: Answer = channel => {
      channel.stderr.write('mkdir: no')
      channel.exit(1)
      channel.end()
    }
    const survey = says(`skylab machine ${machineHere}\n`)
    const answer = site.proved(command => (command.includes('uname') ? survey : fails))
    const machine = await site.connect(await site.liar({ answer }))
    const messages = new Set<string>()
    // The first answers come in several parts, and the race is another one then.
    for (let i = 0; i < 20; i += 1) {
      messages.add((await errorOf(machine.install(someProgram('/lib/it')))).message)
    }
    expect([...messages]).toEqual(['the program cannot be copied: mkdir: no'])
  })

  test('when the program does not start there', async () => {
    const message = await lacks(await site.sshd(), {}, '#!/lib64/another-loader\n')
    expect(message).toMatch(/^the program does not start: .*(not found|bad interpreter)/)
  })

  describe.runIf(process.getuid?.() === 0)('as root', () => {
    const mounted = (options: string) => (folder: string) => {
      const mount = `mkdir -p "$0/lib" && mount -t tmpfs -o ${options} tmpfs "$0/lib" && exec "$@"`
      return ['unshare', '--mount', 'sh', '-c', mount, folder]
    }

    test('when its folder permits no programs', async () => {
      const server = await site.sshd({ wrap: mounted('noexec') })
      expect(await lacks(server)).toMatch(/^the program does not start: .*Permission denied/)
    })

    test('when it has no space', async () => {
      const server = await site.sshd({ wrap: mounted('size=64k') })
      const message = await lacks(server, {}, Buffer.alloc(1_000_000))
      expect(message).toMatch(/^the program cannot be copied: .*No space left on device/)
    })
  })
})

describe('runnerProgram', () => {
  const inFolder = async (content: string | Buffer = script) => {
    const folder = await mkdtemp(join(tmpdir(), 'skylab-program-'))
    site.onEnd(() => rm(folder, { recursive: true }))
    const file = join(folder, 'runner.cjs')
    writeFileSync(file, content, { mode: 0o755 })
    return file
  }

  test('is this very Node and the runner by default, and starts on a machine', async () => {
    const bundle = await inFolder('console.log(process.version, ...process.argv.slice(2))')
    const server = await site.sshd()
    const program = await runnerProgram({ deploy: itself, bundle, directory: directoryOf(server) })
    expect(program).toMatchObject({ architecture: machineHere, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(program.files[0]?.bytes).toBe(statSync(process.execPath).size)
    const machine = await site.connect(server)
    const { command } = await machine.install(program)
    expect(await machine.exec(`${command} runner attach`)).toMatchObject({
      stdout: `${process.version} runner attach\n`,
    })
  })

  test('has another hash when one of its files is another', async () => {
    const program = await runnerProgram({ deploy: itself, bundle: await inFolder('1') })
    const other = await runnerProgram({ deploy: itself, bundle: await inFolder('2') })
    expect(other.files[0]?.sha256).toBe(program.files[0]?.sha256)
    expect(other.hash).not.toBe(program.hash)
  })

  test('is the file that a path names, as it was at first', async () => {
    const file = await inFolder()
    const server = await site.sshd()
    const program = await runnerProgram({ deploy: file, directory: directoryOf(server) })
    expect(program).toMatchObject({ architecture: undefined, files: [{ name: 'skylab', sha256: sha256(script) }] })
    await rm(file)
    writeFileSync(file, 'another')
    const machine = await site.connect(server)
    const { command } = await machine.install(program)
    expect(await machine.exec(command)).toMatchObject({ stdout: '0.2.0 \n' })
  })

  test('copies nothing when the setting is empty: the image has it', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = await runnerProgram({ deploy: '', directory: server.folder })
    const error = await errorOf(machine.install(program))
    expect(error).toBeInstanceOf(MachineLacks)
    expect(error.message).toMatch(/has no program \S+\/skylab, and none is to be copied/)
    const file = join(server.folder, 'skylab')
    writeFileSync(file, script, { mode: 0o755 })
    expect(await machine.install(program)).toEqual({ command: file, skipped: true })
  })

  test('rejects in words when there is no such file', async () => {
    const error = await errorOf(runnerProgram({ deploy: '/nowhere/skylab' }))
    expect(error.message).toBe('/nowhere/skylab, the program for machines, cannot be read: ENOENT')
  })
})
