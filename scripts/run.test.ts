import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { isInstalled } from './run.mjs'

let checkout: string
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'run-'))
  mkdirSync(join(checkout, 'scripts'))
  const here = dirname(fileURLToPath(import.meta.url))
  for (const name of ['run.mjs', 'orphan.mjs']) copyFileSync(join(here, name), join(checkout, 'scripts', name))
  writeJson('package-lock.json', { packages: { '': {}, 'node_modules/a': { version: '1.0.0', integrity: 'x' } } })
})
afterEach(() => rmSync(checkout, { recursive: true, force: true }))

function writeJson(name: string, value: object): void {
  mkdirSync(dirname(join(checkout, name)), { recursive: true })
  writeFileSync(join(checkout, name), JSON.stringify(value))
}

function install(packages: object = { 'node_modules/a': { version: '1.0.0', integrity: 'x' } }): void {
  writeJson('node_modules/.package-lock.json', { packages })
  mkdirSync(join(checkout, 'node_modules', '.bin'), { recursive: true })
  symlinkSync(process.execPath, join(checkout, 'node_modules', '.bin', 'node'))
}

function start(code: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) {
  writeFileSync(join(checkout, 'program.ts'), code)
  const command = [join(checkout, 'scripts', 'run.mjs'), join(checkout, 'program.ts'), ...args]
  const child = spawn(process.execPath, command, {
    env: { ...process.env, npm_lifecycle_event: '', XDG_CACHE_HOME: join(checkout, 'cache'), ...env },
  })
  let stdout = ''
  child.stdout.on('data', chunk => (stdout += chunk))
  const ended = once(child, 'close').then(([code]) => ({ code, stdout }))
  return { child, ended }
}

const waits = `setInterval(() => {}, 1000)
process.on('SIGTERM', () => { console.log('terminated'); process.exit(4) })
process.on('SIGINT', () => { console.log('interrupted'); process.exit(5) })
console.log(process.pid)`

test('run.mjs runs a TypeScript program with its arguments, and passes its exit code on', async () => {
  install()
  const code = `const code: number = 3; console.log(process.argv.slice(2).join()); process.exit(code)`
  expect(await start(code, ['a', '--b']).ended).toEqual({ code: 3, stdout: 'a,--b\n' })
})

test.each(['SIGINT', 'SIGTERM'] as const)('run.mjs passes %s on', async signal => {
  install()
  const { child, ended } = start(waits)
  await once(child.stdout, 'data')
  child.kill(signal)
  expect((await ended).code).toBe(signal === 'SIGINT' ? 5 : 4)
})

test('run.mjs asks the program to end when run.mjs itself is killed', async () => {
  install()
  const { child, ended } = start(waits)
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  // The output closes when the program has ended too.
  expect((await ended).stdout).toContain('terminated')
})

test.each(['npm', 'the shell between'])('run.mjs asks the program to end when %s is killed', async parent => {
  install()
  writeFileSync(join(checkout, 'program.ts'), waits)
  const shell = `"${process.execPath}" "${checkout}/scripts/run.mjs" "${checkout}/program.ts"; true`
  const npm = `const { pid } = require('child_process').spawn('sh', ['-c', process.argv[1]], { stdio: 'inherit' })
    console.error(pid)
    setInterval(() => {}, 1000)`
  const env = { ...process.env, npm_lifecycle_event: 'demo' }
  const child = spawn(process.execPath, ['-e', npm, shell], { env })
  let stdout = ''
  child.stdout.on('data', chunk => (stdout += chunk))
  const [[shellPid]] = await Promise.all([once(child.stderr, 'data'), once(child.stdout, 'data')])
  process.kill(parent === 'npm' ? child.pid! : Number(String(shellPid)), 'SIGKILL')
  if (parent === 'npm') await once(child, 'close')
  else await once(child.stdout, 'data')
  expect(stdout).toContain('terminated')
  child.kill('SIGKILL')
})

test.each(['SIGINT', 'SIGTERM'] as const)(
  'a program that npm runs in the background ends when npm gets %s',
  async signal => {
    install()
    writeFileSync(join(checkout, 'program.ts'), waits)
    const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'))
    writeJson('package.json', { scripts: { demo: scripts.demo.replace('dev/demo.ts', 'program.ts') } })
    // As a shell starts a job in the background: without Ctrl-C, and in no process group of a terminal.
    const args = ['run', '--silent', '--update-notifier=false', 'demo']
    const child = spawn('npm', args, { cwd: checkout, detached: true, env: { ...process.env, HOME: checkout } })
    // Ends all of them if a signal got lost.
    onTestFinished(() => {
      spawnSync('kill', ['-KILL', '--', `-${child.pid}`])
    })
    let stdout = ''
    child.stdout.on('data', chunk => (stdout += chunk))
    await once(child.stdout, 'data')
    child.kill(signal)
    await once(child, 'close')
    expect(stdout).toContain(signal === 'SIGINT' ? 'interrupted' : 'terminated')
  },
)

test('run.mjs does not keep an ended program running', async () => {
  install()
  expect((await start('console.log(1)').ended).code).toBe(0)
})

test.each([
  ['what the lockfile asks for', { 'node_modules/a': { version: '1.0.0', integrity: 'x' } }, true],
  ['another version', { 'node_modules/a': { version: '1.0.1', integrity: 'x' } }, false],
  ['other content', { 'node_modules/a': { version: '1.0.0', integrity: 'y' } }, false],
  ['nothing', {}, false],
  ['more', { 'node_modules/a': { version: '1.0.0', integrity: 'x' }, 'node_modules/b': { version: '1.0.0' } }, false],
])('isInstalled judges node_modules with %s', (_, packages, expected) => {
  install(packages)
  expect(isInstalled(checkout)).toBe(expected)
})

test('isInstalled accepts a missing optional package of another system', () => {
  install()
  writeJson('package-lock.json', {
    packages: {
      'node_modules/a': { version: '1.0.0', integrity: 'x' },
      'node_modules/other': { version: '1.0.0', optional: true },
    },
  })
  expect(isInstalled(checkout)).toBe(true)
})

/** An npm that installs the lockfile's packages, counts its calls, and prints to stdout as npm does. */
function fakeNpm(first = ''): NodeJS.ProcessEnv {
  const script = `#!/bin/sh
echo "$@" >> "${checkout}/calls"
${first}
echo 'added 1 package'
mkdir -p "${checkout}/node_modules/.bin"
ln -s "${process.execPath}" "${checkout}/node_modules/.bin/node"
printf '{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "x"}}}' > "${checkout}/node_modules/.package-lock.json"
`
  writeFileSync(join(checkout, 'npm'), script)
  chmodSync(join(checkout, 'npm'), 0o755)
  return { PATH: `${checkout}:${process.env.PATH}` }
}

test('run.mjs installs missing packages once for two starts, and leaves stdout to the program', async () => {
  execFileSync('mkfifo', [join(checkout, 'gate')])
  const env = fakeNpm(`read line < "${checkout}/gate"`)
  const first = start('console.log(1)', [], env)
  await says(first.child, '… npm packages')
  const second = start('console.log(1)', [], env)
  await says(second.child, 'another run installs')
  writeFileSync(join(checkout, 'gate'), 'open\n')
  const results = await Promise.all([first.ended, second.ended])
  expect(results).toEqual([
    { code: 0, stdout: '1\n' },
    { code: 0, stdout: '1\n' },
  ])
  expect(readFileSync(join(checkout, 'calls'), 'utf8')).toMatch(/^install --no-save .*\n$/)
})

/** Resolves when a text has been written to stderr. */
function says(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  let stderr = ''
  return new Promise(resolve => {
    child.stderr.on('data', chunk => {
      stderr += chunk
      if (stderr.includes(text)) resolve()
    })
  })
}

test('run.mjs remembers the duration of the installation beside others, and prints it the next time', async () => {
  writeJson('cache/skylab/durations.json', { other: 1, 'npm packages': 12.3 })
  const { child, ended } = start('', [], fakeNpm())
  let stderr = ''
  child.stderr.on('data', chunk => (stderr += chunk))
  await ended
  expect(stderr).toContain('… npm packages (last time 12.3 s)\n')
  const durations = JSON.parse(readFileSync(join(checkout, 'cache/skylab/durations.json'), 'utf8'))
  expect(durations).toEqual({ other: 1, 'npm packages': expect.any(Number) })
})

test('run.mjs ignores the lock of a killed process', async () => {
  mkdirSync(join(checkout, '.artefacts'))
  writeFileSync(join(checkout, '.artefacts', 'install.lock'), `${process.pid} 1`)
  expect((await start('console.log(1)', [], fakeNpm()).ended).stdout).toBe('1\n')
})
