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
import { errorOf, Site } from './testing/site.ts'
import type { Sshd } from './testing/sshd.ts'

const site = new Site()
afterEach(site.end)

const script = '#!/bin/sh\necho "0.2.0 $*"\n'
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
const machineHere = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as string] ?? ''
const needed = ['sh', 'gzip', 'sha256sum', 'chmod', 'mv', 'mkdir', 'rm', 'uname', 'cat']

/** Of two files, as Node and its bundle are. */
function someProgram(content: string | Buffer = script, over: Partial<RunnerProgram> = {}): RunnerProgram {
  const file = (name: string, of: string | Buffer) => ({
    ...{ name, bytes: of.length, sha256: sha256(of) },
    open: () => Readable.from([gzipSync(of)]),
  })
  const files = [file('node', content), file('runner.cjs', 'the runner')]
  return { hash: sha256(content), architecture: machineHere, path: undefined, files, ...over }
}

const folderOf = (server: Sshd, program: RunnerProgram) => join(server.folder, 'lib/it', `skylab~${program.hash}`)
const directoryOf = (server: Sshd) => join(server.folder, 'lib/it')

describe('install', () => {
  test('puts the program there, and skips it when it stands there whole', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram()
    const directory = directoryOf(server)
    const { command, skipped } = await machine.install(program, { directory })
    expect(skipped).toBe(false)
    expect(await machine.exec(`${command} runner attach`)).toMatchObject({
      stdout: `0.2.0 ${folderOf(server, program)}/runner.cjs runner attach\n`,
    })
    expect(readdirSync(folderOf(server, program)).toSorted()).toEqual(['node', 'runner.cjs'])
    const open = () => Promise.reject(new Error('copied again')) as never
    const files = program.files.map(file => ({ ...file, open }))
    expect(await machine.install({ ...program, files }, { directory })).toEqual({ command, skipped: true })
  })

  test('replaces a file with another content, and one that cannot be run', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram()
    const folder = folderOf(server, program)
    await mkdir(folder, { recursive: true })
    writeFileSync(join(folder, 'node'), 'damaged', { mode: 0o755 })
    writeFileSync(join(folder, 'runner.cjs'), 'the runner', { mode: 0o600 })
    expect(await machine.install(program, { directory: directoryOf(server) })).toMatchObject({ skipped: false })
    expect(readFileSync(join(folder, 'node'), 'utf8')).toBe(script)
    expect(statSync(join(folder, 'runner.cjs')).mode & 0o777).toBe(0o755)
  })

  test('puts it in a folder whose name a shell would take apart', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const directory = join(server.folder, `it's a $(folder)`)
    const { command } = await machine.install(someProgram(), { directory })
    expect(await machine.exec(command)).toMatchObject({ exitCode: 0 })
    expect(existsSync(directory)).toBe(true)
  })

  test('lets two put it there at once', async () => {
    const server = await site.sshd()
    const machines = await Promise.all([site.connect(server), site.connect(server)])
    const program = someProgram()
    const both = await Promise.all(machines.map(each => each.install(program, { directory: directoryOf(server) })))
    expect(both[0]?.command).toBe(both[1]?.command)
    expect(readdirSync(folderOf(server, program)).toSorted()).toEqual(['node', 'runner.cjs'])
  })

  test('gives no name to a copy that was damaged on its way', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram()
    const open = () => Readable.from([gzipSync('something else')])
    const files = program.files.map(file => ({ ...file, open }))
    const error = await errorOf(machine.install({ ...program, files }, { directory: directoryOf(server) }))
    expect(error).toBeInstanceOf(Unreachable)
    expect(readdirSync(folderOf(server, program))).toEqual([])
  })

  test('leaves nothing when the connection ends in the middle, and succeeds afterwards', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram()
    const folder = folderOf(server, program)
    const half = new Readable({ read() {} })
    half.push(gzipSync(script).subarray(0, 30))
    const files = program.files.map(file => ({ ...file, open: () => half }))
    const failed = errorOf(machine.install({ ...program, files }, { directory: directoryOf(server) }))
    await expect.poll(() => existsSync(folder) && readdirSync(folder)).toEqual([expect.stringMatching(/^\.node\./)])
    server.cut()
    expect(await failed).toBeInstanceOf(Unreachable)
    await expect.poll(() => readdirSync(folder)).toEqual([])
    const again = await site.connect(server)
    expect(await again.install(program, { directory: directoryOf(server) })).toMatchObject({ skipped: false })
  })

  test('rejects with the reason of its signal, and when it takes too long', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const program = someProgram()
    const files = program.files.map(file => ({ ...file, open: () => new Readable({ read() {} }) }))
    const endless = { ...program, files }
    const directory = directoryOf(server)
    expect(await errorOf(machine.install(endless, { directory, timeoutMs: 300 }))).toBeInstanceOf(Unreachable)
    const reason = new Error('stopped')
    const signal = AbortSignal.abort(reason)
    expect(await errorOf(machine.install(endless, { directory, signal }))).toBe(reason)
  })
})

describe('install says what a machine lacks', () => {
  const lacks = async (server: Sshd, program: RunnerProgram, directory = directoryOf(server)) => {
    const machine = await site.connect(server)
    const error = await errorOf(machine.install(program, { directory }))
    expect(error).toBeInstanceOf(MachineLacks)
    return error.message
  }

  test.each(['gzip', 'sha256sum'])('when it has no %s', async tool => {
    const server = await site.sshd({ tools: needed.filter(each => each !== tool) })
    expect(await lacks(server, someProgram())).toBe(`the machine lacks ${tool}, needed to install the program`)
  })

  test('and nothing when it has these tools alone', async () => {
    const server = await site.sshd({ tools: needed })
    const machine = await site.connect(server)
    await machine.install(someProgram(), { directory: directoryOf(server) })
  })

  test('when it is of another architecture', async () => {
    const message = await lacks(await site.sshd(), someProgram(script, { architecture: 'riscv64' }))
    expect(message).toBe(`the machine's architecture is ${machineHere}, and the program is for riscv64`)
  })

  test('when its folder cannot be made', async () => {
    const server = await site.sshd()
    expect(await lacks(server, someProgram(), join(server.folder, 'secret/it'))).toMatch(
      /^the program cannot be copied: mkdir: .*Not a directory/,
    )
  })

  test('when the program does not start there', async () => {
    const message = await lacks(await site.sshd(), someProgram('#!/lib64/another-loader\n'))
    expect(message).toMatch(/^the program does not start: .*(not found|bad interpreter)/)
  })

  describe.runIf(process.getuid?.() === 0)('as root', () => {
    const mounted = (options: string) => (folder: string) => {
      const mount = `mkdir -p "$0/lib" && mount -t tmpfs -o ${options} tmpfs "$0/lib" && exec "$@"`
      return ['unshare', '--mount', 'sh', '-c', mount, folder]
    }

    test('when its folder permits no programs', async () => {
      const server = await site.sshd({ wrap: mounted('noexec') })
      expect(await lacks(server, someProgram())).toMatch(/^the program does not start: .*Permission denied/)
    })

    test('when it has no space', async () => {
      const server = await site.sshd({ wrap: mounted('size=64k') })
      const message = await lacks(server, someProgram(Buffer.alloc(1_000_000)))
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
    const program = await runnerProgram({ deploy: itself, path: '', bundle })
    expect(program).toMatchObject({ architecture: machineHere, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(program.files[0]?.bytes).toBe(statSync(process.execPath).size)
    const server = await site.sshd()
    const machine = await site.connect(server)
    const { command } = await machine.install(program, { directory: directoryOf(server) })
    expect(await machine.exec(`${command} runner attach`)).toMatchObject({
      stdout: `${process.version} runner attach\n`,
    })
  })

  test('has another hash when one of its files is another', async () => {
    const program = await runnerProgram({ deploy: itself, path: '', bundle: await inFolder('1') })
    const other = await runnerProgram({ deploy: itself, path: '', bundle: await inFolder('2') })
    expect(other.files[0]?.sha256).toBe(program.files[0]?.sha256)
    expect(other.hash).not.toBe(program.hash)
  })

  test('is the file that a path names, as it was at first', async () => {
    const file = await inFolder()
    const program = await runnerProgram({ deploy: file, path: '' })
    expect(program).toMatchObject({ architecture: undefined, files: [{ name: 'skylab', sha256: sha256(script) }] })
    await rm(file)
    writeFileSync(file, 'another')
    const server = await site.sshd()
    const machine = await site.connect(server)
    const { command } = await machine.install(program, { directory: directoryOf(server) })
    expect(await machine.exec(command)).toMatchObject({ stdout: '0.2.0 \n' })
  })

  test('copies nothing when the setting is empty: the image has it', async () => {
    const file = await inFolder()
    const machine = await site.connect(await site.sshd())
    const program = await runnerProgram({ deploy: '', path: file })
    expect(await machine.install(program)).toEqual({ command: file, skipped: true })
    const none = await runnerProgram({ deploy: '', path: 'skylab-that-is-not-there' })
    const error = await errorOf(machine.install(none))
    expect(error).toBeInstanceOf(MachineLacks)
    expect(error.message).toMatch(/has no program skylab-that-is-not-there/)
  })

  test('rejects in words when there is no such file', async () => {
    const error = await errorOf(runnerProgram({ deploy: '/nowhere/skylab', path: '' }))
    expect(error.message).toBe('/nowhere/skylab, the program for machines, cannot be read: ENOENT')
  })
})
