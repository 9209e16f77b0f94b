#!/usr/bin/env node
// Stands for `docker` and `podman`: containers are processes, in a folder. It writes down each command line.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const root = process.env.FAKE_ENGINE
const [command, ...args] = process.argv.slice(2)
const name = args.at(-1)
const of = each => join(root, 'containers', each)
const read = (each, file) => (existsSync(join(of(each), file)) ? readFileSync(join(of(each), file), 'utf8') : '')
const write = (each, file, text) => writeFileSync(join(of(each), file), String(text))
const values = option => args.flatMap((arg, i) => (arg === option ? [args[i + 1]] : []))

appendFileSync(join(root, 'said'), `${process.argv.slice(2).join(' ')}\n`)
mkdirSync(join(root, 'containers'), { recursive: true })

/** Once, if a test wants it. A SIGTERM passes. */
const refusal = join(root, `refuse-${command}`)
if (existsSync(refusal) && values('--signal').length === 0) {
  rmSync(refusal)
  process.stderr.write('not now\n')
  process.exit(1)
}

function create() {
  const withValue = ['--name', '--log-driver', '--label', '--env-file', '--env']
  const image = args.findIndex((arg, i) => !arg.startsWith('-') && !withValue.includes(args[i - 1]))
  const [container] = values('--name')
  mkdirSync(of(container))
  const lines = readFileSync(values('--env-file')[0], 'utf8').split('\n').filter(Boolean)
  const env = Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  for (const variable of values('--env')) env[variable] = process.env[variable]
  write(container, 'made', JSON.stringify({ env, command: args.slice(image + 1), labels: values('--label') }))
  write(container, 'status', 'created')
}

async function start() {
  // A client that is slow to ask.
  while (existsSync(join(root, 'hold-start'))) await setTimeout(10)
  if (!existsSync(of(name))) {
    process.stderr.write('no such container\n')
    process.exitCode = 1
    return
  }
  const { env, command: words } = JSON.parse(read(name, 'made'))
  const child = spawn(words[0], words.slice(1), {
    env: { PATH: process.env.PATH, ...env },
    stdio: 'inherit',
    detached: true,
  })
  write(name, 'pid', child.pid)
  write(name, 'status', 'running')
  child.on('exit', (code, signal) => {
    if (!existsSync(of(name))) return
    write(name, 'code', code ?? { SIGTERM: 143, SIGKILL: 137 }[signal])
    write(name, 'status', 'exited')
    process.exitCode = code ?? 1
  })
}

function kill(each, signal) {
  try {
    const pid = Number(read(each, 'pid'))
    // 0 is the group of the supervisor.
    if (pid === 0) throw new Error('it does not run')
    process.kill(-pid, signal)
  } catch {
    process.exitCode = 1
  }
}

const all = () => readdirSync(join(root, 'containers'))

function list() {
  const filters = values('--filter')
  const labels = filters.filter(text => text.startsWith('label=')).map(text => text.slice('label='.length))
  const isAll = args.includes('--all')
  const found = all().filter(each => {
    const made = JSON.parse(read(each, 'made') || '{"labels":[]}')
    return labels.every(label => made.labels.includes(label)) && (isAll || read(each, 'status') === 'running')
  })
  process.stdout.write(found.map(each => `${each}\n`).join(''))
}

const commands = {
  image: () => {
    process.exitCode = existsSync(join(root, 'pulled')) ? 0 : 1
  },
  pull: () => {
    if (name === 'example/none') {
      process.stderr.write('no such image\n')
      process.exitCode = 1
    } else writeFileSync(join(root, 'pulled'), '')
  },
  create,
  start,
  kill: () => kill(name, `SIG${values('--signal')[0] ?? 'KILL'}`),
  inspect: () => {
    if (!existsSync(of(name))) {
      process.stderr.write('no such container\n')
      process.exitCode = 1
      return
    }
    const words = { Status: read(name, 'status'), ExitCode: read(name, 'code') || 0, OOMKilled: false }
    process.stdout.write(`${values('--format')[0].replace(/{{.State.(\w+)}}/g, (_, word) => words[word])}\n`)
  },
  ps: list,
  rm: () => {
    kill(name, 'SIGKILL')
    // `start` may still write there.
    rmSync(of(name), { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
    process.exitCode = 0
  },
}
commands[command]()
