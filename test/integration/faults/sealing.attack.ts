/**
 * P8: secrets enter at every place, and every output is searched for them, while labs are created, fail, are taken
 * over, lost and found again.
 */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parse } from 'yaml'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import { configure } from '../../kit/fleet/configure.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import type { FullLab } from '../../kit/fleet/full-lab.ts'
import { allPlaces, findSecrets, formsOf, type Places } from '../../kit/fleet/secrets.ts'
import { testBed } from '../../kit/testbed.ts'
import { maxBodyBytes, misplace, sendRaw } from './misplaced-secrets.ts'
import * as wave from './wave.ts'

/** Plain text in an environment: a search that finds it would also find a secret. */
const plain = `plain-${randomBytes(8).toString('hex')}`

/** More than the attack creates. */
const fullLabs = 12

class Story {
  readonly trial: Trial
  readonly fleet: Fleet
  /** Secrets by their place of entry. */
  readonly secrets: Record<string, string> = {}
  /** Secrets in labs. */
  readonly inLabs: string[] = []
  readonly answers: string[] = []
  readonly people: Client[] = []

  constructor(trial: Trial, fleet: Fleet) {
    this.trial = trial
    this.fleet = fleet
  }

  plant(name: string): string {
    this.secrets[name] = `plant${randomBytes(10).toString('hex')}`
    return this.secrets[name]
  }

  hear(answer: unknown): void {
    this.answers.push(JSON.stringify(answer) ?? '')
  }

  /** A user with a token, who puts secrets into the environment of their lab. */
  someone(name: string): { user: Client; env: Record<string, string> } {
    const user = this.fleet.user()
    this.people.push(user)
    const lab = (what: string) => {
      const secret = this.plant(`${what} of the user who ${name}`)
      this.inLabs.push(secret)
      return secret
    }
    this.secrets[`the token of the user who ${name}`] = user.token
    this.inLabs.push(user.token)
    const env = {
      ...{ PLAIN: plain, HUB_API_TOKEN: lab('a token'), dbPassword: lab('a password'), SIGNING_KEY: lab('a key') },
      DATABASE: `postgres://me:${lab('an address')}@db.example/labs?sslmode=off`,
      PROXY: `socks5://${lab('a user')}@proxy.example`,
    }
    return { user, env }
  }

  async follow(user: Client, outcome: 'complete' | 'failed'): Promise<void> {
    const followed = await user.follow()
    this.hear(followed)
    expect(followed.outcome).toBe(outcome)
  }

  async runs(name: string): Promise<Client> {
    const { user, env } = this.someone(name)
    const key = this.plant(`the Idempotency-Key of the user who ${name}`)
    for (const more of [{ key }, { key, env: { ...env, MORE: 'of it' } }]) {
      const answer = await user.create(undefined, { env, ...more })
      this.hear(answer.body)
      expect(answer.status).toBe('env' in more ? 422 : 303)
    }
    await this.follow(user, 'complete')
    return user
  }

  /** Searches every place for every secret. Plain texts must be found in the places that may contain them. */
  async look(when: string, controls: Readonly<Record<string, string>>): Promise<void> {
    const places: Places = { ...(await allPlaces(this.fleet, this.people)), answers: this.answers.join('\n') }
    for (const [place, control] of Object.entries(controls)) {
      expect(places[place]?.includes(control), `${control} in ${place}, ${when}`).toBe(true)
    }
    for (const found of findSecrets(places, this.secrets)) this.trial.violation(`${found}, ${when}`)
  }
}

/** The replicas' own credentials. */
async function plantCredentials(story: Story): Promise<void> {
  const { fleet, secrets } = story
  const sealingKey = (await readFile(join(fleet.stateDir, 'sealing.key'), 'utf8')).trim()
  secrets['the sealing key'] = sealingKey
  secrets['the bytes of the sealing key'] = Buffer.from(sealingKey, 'base64').toString('latin1')
  const kubeconfig = parse(await readFile(testBed().controllerKubeconfig, 'utf8'))
  secrets['the token of the ServiceAccount'] = kubeconfig.users[0].user.token
  secrets['the token of the administrator'] = fleet.admin.token
  const password = story.plant('the password of Redis')
  const credentialsFile = await plantRegistryPassword(story)
  await fleet.world.redis.acl('SETUSER', 'program', `>${password}`)
  const { host } = new URL(fleet.redis.url)
  for (let index = 0; index < fleet.size; index++) {
    await fleet.kill(index)
    configure(fleet, index, config => ({
      ...config,
      redis: { ...config.redis, url: `redis://program:${password}@${host}` },
      images: { ...config.images, credentialsFile },
    }))
    await fleet.start(index, { ready: false })
  }
  await fleet.ready()
}

/** Credentials for the registry. Returns the path of the file. */
async function plantRegistryPassword(story: Story): Promise<string> {
  const { fleet, secrets } = story
  const auth = `robot:${story.plant('the password of the registry')}`
  secrets['the credentials of the registry'] = Buffer.from(auth).toString('base64')
  const file = join(fleet.stateDir, 'registry.json')
  const auths = { [testBed().images.registry!]: { auth: secrets['the credentials of the registry'] } }
  await writeFile(file, JSON.stringify({ auths }), { mode: 0o600 })
  return file
}

/** Sources that are copied into every lab. */
function plantSources({ secrets, inLabs }: Story, fullLab: FullLab): void {
  secrets['a configured Secret'] = fullLab.secrets.file
  secrets['the password of the pull secret'] = fullLab.secrets.password
  secrets['the credentials of the pull secret'] = fullLab.credentials
  inLabs.push(fullLab.secrets.file, fullLab.credentials)
}

/** A creation whose pod gets an event of the cluster that quotes a secret. */
async function speaksOfSecrets(story: Story): Promise<void> {
  const { fleet } = story
  const { user, env } = story.someone('has no image')
  const arm = fleet.arm('lab.create.make.pod.after-commit', 'hold', { user: user.username })
  await user.create(wave.hugeOptions, { env })
  await arm.landed()
  const address = `https://robot:${story.plant('an address that the cluster quotes')}@registry.example/lab`
  const message = `failed to pull ${address}?sig=${story.plant('a query that the cluster quotes')}: not found`
  const waiting = { reason: 'ErrImagePull', message }
  const status = { name: 'notebook', image: 'lab', imageID: '', ready: false, restartCount: 0, state: { waiting } }
  await fleet.world.setPodStatus(user.username, { containerStatuses: [status] })
  arm.release()
  await story.follow(user, 'failed')
  expect(story.answers.at(-1)).toContain('registry.example')
}

async function isTakenOver(story: Story): Promise<void> {
  const { fleet } = story
  const { user, env } = story.someone('is taken over')
  const arm = fleet.arm('lab.create.make.secret-env.after-act', 'kill', { user: user.username })
  expect((await user.create(undefined, { env })).status).toBe(303)
  const { replica } = await arm.landed()
  await story.follow(user, 'complete')
  await fleet.start(fleet.indexOf(replica))
}

async function isDeleted(story: Story): Promise<void> {
  const user = await story.runs('is deleted')
  expect((await story.fleet.admin.delete(user.username)).status).toBe(202)
  await story.follow(user, 'complete')
}

async function findsNoRoom(story: Story): Promise<void> {
  const { user, env } = story.someone('finds no room')
  expect((await user.create(wave.hugeOptions, { env })).status).toBe(303)
  await story.follow(user, 'failed')
}

/** Requests that are refused. */
async function isRefused(story: Story): Promise<void> {
  const { user } = story.someone('asks badly')
  const plant = (name: string) => story.plant(name)
  expect(await misplace(story.fleet, user, plant, answer => story.hear(answer))).toEqual([])
  const head = `Host: x\r\nX-Token: ${story.plant('a header too large').repeat(800)}`
  for (const text of [`GET /${story.plant('no HTTP')}\r\n\r\n`, `GET /healthz HTTP/1.1\r\n${head}\r\n\r\n`]) {
    const answer = await sendRaw(story.fleet.url(0), text)
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d/)
    story.hear(answer)
  }
}

/** Each secret of a lab is in its place: none got lost on its way. */
async function expectKept(story: Story): Promise<void> {
  const { world } = story.fleet
  const lists = await Promise.all(story.people.map(({ username }) => world.objectsOf(username)))
  const kept = lists
    .flat()
    .filter(({ kind }) => kind === 'Secret')
    .flatMap(secret => Object.values((secret as unknown as { data?: Record<string, string> }).data ?? {}))
    .map(text => Buffer.from(text, 'base64').toString())
    .join('\n')
  const alive = story.inLabs.filter(secret => kept.includes(secret))
  // Secrets of running labs and of the one in creation, besides those of all labs.
  expect(alive.length).toBeGreaterThanOrEqual(2 * 6 + 2)
  story.trial.figure('kept_in_secrets', alive.length)
}

async function plantAndSearch(trial: Trial): Promise<void> {
  const { fullLab, config, ...options } = await wave.fullLabFleet(trial, fullLabs)
  // Only the lab without room may fail, however busy the cluster is.
  const own = { times: { noRoomGraceSeconds: 15 }, api: { limits: { maxBodyBytes } } }
  const fleet = await trial.fleet({ ...options, fullLab, config: { ...config, ...own } })
  fleet.expects({ redisLoss: true })
  const story = new Story(trial, fleet)
  plantSources(story, fullLab)
  await plantCredentials(story)
  const [running] = await Promise.all([
    story.runs('runs'),
    isDeleted(story),
    findsNoRoom(story),
    speaksOfSecrets(story),
  ])
  await isRefused(story)
  await isTakenOver(story)

  const { user: half, env } = story.someone('is half made')
  const arm = fleet.arm('lab.create.make.pod.before-act', 'hold', { user: half.username })
  await half.create(undefined, { env })
  await arm.landed()
  const stream = half.follow()
  const inTheClear = { objects: plain, statuses: plain, redis: plain, audit: fleet.namespace(running.username) }
  const always = {
    logs: running.username,
    metrics: 'skylab_operations_accepted_total',
    answers: 'is not the id of an event',
  }
  await story.look('while a lab is made', {
    ...{ ...inTheClear, ...always, 'events of Kubernetes': `nb-${running.username}` },
  })
  const { keys, redis } = fleet.world
  expect((await redis.hget(keys.record(half.username), 'plan'))!.length).toBeGreaterThan(1000)
  await expectKept(story)

  await redis.flushall()
  story.hear(await stream)
  arm.release()
  await eventually('the end of the half-made lab', async () => (await half.userStatus()).status === 404, 60_000)
  await eventually('a rebuilt record', async () => (await running.userStatus()).status === 200)
  await story.look('when Redis was emptied', { ...inTheClear, ...always })

  await wave.expectNothingLeft(fleet, story.people)
  await story.look('when all is gone', always)
  const { length } = Object.keys(story.secrets)
  trial.injected(length)
  trial.landed(length)
  trial.figure(
    'forms',
    Object.values(story.secrets).reduce((sum, secret) => sum + formsOf(secret).length, 0),
  )
}

attack('P8 planted secrets', plantAndSearch, { concurrent: true, limitMs: 300_000 })
