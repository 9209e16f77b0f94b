/** Runs the commands of the Job that copies kubespawner's homes, on two local folders. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'

const file = new URL('../hub/examples/zero-to-jupyterhub/copy-home.yaml', import.meta.url)
const { command, args } = parse(readFileSync(file, 'utf8')).spec.template.spec.containers[0]

test('the Job copies a home with its owner, and copies changes again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'homes-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [from, to] = [join(folder, 'from'), join(folder, 'homes', 'ada')]
  for (const each of [join(from, '.jupyter'), join(from, 'lost+found'), join(folder, 'homes')]) {
    mkdirSync(each, { recursive: true })
  }
  writeFileSync(join(from, '.jupyter', 'settings'), 'first')
  const owner = `${process.getuid!()}:${process.getgid!()}`
  const run = () => {
    const env = { PATH: process.env.PATH, FROM: from, TO: to, OWNER: owner }
    const { status, stderr } = spawnSync(command[0], [...command.slice(1), args[0]], { env, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  }
  run()
  expect(readFileSync(join(to, '.jupyter', 'settings'), 'utf8')).toBe('first')
  expect(existsSync(join(to, 'lost+found'))).toBe(false)
  writeFileSync(join(from, '.jupyter', 'settings'), 'second')
  writeFileSync(join(to, 'made-since'), '')
  run()
  expect(readFileSync(join(to, '.jupyter', 'settings'), 'utf8')).toBe('second')
  expect(existsSync(join(to, 'made-since'))).toBe(true)
  expect(statSync(to).uid).toBe(process.getuid!())
}, 60_000)
