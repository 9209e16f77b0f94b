/** A lab's life for a client, through any replica. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { Client, Followed } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { isAsShown, paste, pastedBlocks, withVariables } from '../kit/pages/pasted.ts'
import { testBed } from '../kit/testbed.ts'

const fleet = useFleet({ people: { 'Ada Lovelace': {}, ada: {} } })

const gibibyte = 2 ** 30
const prefix = '/nublado/spawner/v1'
const env = { JUPYTERHUB_SERVICE_PREFIX: '/nb/user/somebody', API_TOKEN: 'do not show', PLAIN: 'to be seen' }

/** Checks every replica, right after a creation has ended. */
async function expectRunning(user: Client, created: Followed): Promise<void> {
  const { admin, namespace, urls } = {
    admin: fleet().admin,
    namespace: fleet().namespace(user.username),
    urls: fleet().urls,
  }
  const lab = namespace.slice(fleet().namespacePrefix.length + 1)
  for (const url of urls) {
    const { status, body } = await admin.at(url).status(user.username)
    expect(status).toBe(200)
    expect(body).toMatchObject({ username: user.username, status: 'running', pod: 'present' })
    expect(body.internal_url).toMatch(`http://nb-${lab}.${namespace}:8888/`)
    expect(body.events).toEqual(created.events)
    expect((await user.at(url).userStatus()).body).toEqual(body)
    expect((await admin.at(url).labs()).body).toContain(user.username)
    expect((await user.at(url).create()).status).toBe(409)
  }
}

/** The same right after a deletion has ended. */
async function expectGone(user: Client, deleted: Followed): Promise<void> {
  for (const url of fleet().urls) {
    const admin = fleet().admin.at(url)
    expect((await admin.status(user.username)).status).toBe(404)
    expect((await user.at(url).userStatus()).status).toBe(404)
    expect((await admin.labs()).body).not.toContain(user.username)
    expect((await admin.delete(user.username)).status).toBe(404)
    expect((await user.at(url).follow()).events).toEqual(deleted.events)
  }
}

async function runLab(user: Client): Promise<Followed> {
  const answer = await user.create()
  expect(answer.status).toBe(303)
  const created = await user.follow()
  expect(created.outcome).toBe('complete')
  return created
}

async function deleteLab(user: Client): Promise<Followed> {
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  const deleted = await user.follow()
  expect(deleted.outcome).toBe('complete')
  return deleted
}

test.concurrent('a lab is created, found by every replica, deleted, and created again', async () => {
  const user = fleet().user()
  const answer = await user.create()
  expect(answer.status).toBe(303)
  expect(answer.headers.get('location')).toBe(`${prefix}/labs/${user.username}`)
  const created = await user.follow()
  expect(created.outcome).toBe('complete')
  await expectRunning(user, created)
  const deleted = await deleteLab(user)
  expect(deleted.op).toBeGreaterThan(created.op)
  await expectGone(user, deleted)
  expect(await fleet().world.leftOf(user.username)).toEqual([])
  const again = await runLab(user)
  expect(again.op).toBeGreaterThan(deleted.op)
  await expectRunning(user, again)
})

test.concurrent('the status has the requested options, converted, with secrets masked', async () => {
  const user = fleet().user()
  const options = { image_type: ['recommended'], size: ['medium'], enable_debug: ['TRUE'], reset_user_env: false }
  expect((await user.create(options, { env })).status).toBe(303)
  const { events } = await user.follow()
  const { status, body } = await user.userStatus()
  const namespace = fleet().namespace(user.username)
  const uid = 5_000_000 + Number(user.username.slice(1))
  expect(status).toBe(200)
  expect(body).toEqual({
    username: user.username,
    status: 'running',
    pod: 'present',
    internal_url: `http://nb-${user.username}.${namespace}:8888/nb/user/somebody/`,
    options: { image_type: 'recommended', size: 'medium', enable_debug: true, reset_user_env: false },
    env: { ...env, API_TOKEN: '***' },
    uid,
    gid: uid,
    groups: [
      { name: user.username, id: uid },
      { name: 'observers', id: 4_900_001 },
    ],
    quotas: {
      limits: { cpu: 2, memory: 8 * gibibyte },
      requests: { cpu: 0.5, memory: 2 * gibibyte },
    },
    events,
  })
})

test.concurrent('the status is pending during a creation, and a second creation is refused', async () => {
  const user = fleet().user()
  const arm = fleet().arm('lab.create.make.service.after-act', 'hold', { user: user.username })
  await user.create()
  await arm.landed()
  const { body } = await user.userStatus()
  expect(body).toMatchObject({ status: 'pending', pod: 'missing' })
  expect(body).not.toHaveProperty('internal_url')
  expect((await fleet().admin.labs()).body).not.toContain(user.username)
  const second = await user.create()
  expect(second).toMatchObject({ status: 409, body: { detail: [{ type: 'lab_exists' }] } })
  arm.release()
  expect((await user.follow()).outcome).toBe('complete')
})

test.concurrent('a second DELETE joins the first one', async () => {
  const user = fleet().user()
  await runLab(user)
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  const { body } = await user.userStatus()
  expect(body.status).toBe('terminating')
  expect(body).not.toHaveProperty('internal_url')
  expect(await user.create()).toMatchObject({ status: 409, body: { detail: [{ type: 'lab_terminating' }] } })
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  const { events, outcome } = await user.follow()
  expect(outcome).toBe('complete')
  expect(events.filter(({ data }) => data.startsWith('lab deletion initiated'))).toHaveLength(1)
})

test.concurrent('events come in order: initiated, made, up, complete', async () => {
  const user = fleet().user()
  const { events } = await runLab(user)
  expect(events[0]).toMatchObject({ event: 'info', data: `lab creation initiated for ${user.username}` })
  expect(events[1]).toMatchObject({ event: 'progress', data: '1' })
  const texts = events.filter(({ event }) => event === 'info').map(({ data }) => data)
  const namespace = fleet().namespace(user.username)
  const inOrder = [`Created the namespace ${namespace}`, 'Created the pod of the lab', 'The lab is up']
  expect(texts.filter(data => inOrder.includes(data))).toEqual(inOrder)
  expect(events.at(-2)).toMatchObject({ event: 'progress', data: '100' })
  expect(events.at(-1)).toMatchObject({ event: 'complete' })
})

test.concurrent('a user whose name is no DNS label has a lab under a converted name', async () => {
  const user = fleet().as('Ada Lovelace')
  const answer = await user.create()
  expect(answer.headers.get('location')).toBe(`${prefix}/labs/Ada%20Lovelace`)
  const created = await user.follow()
  await expectRunning(user, created)
  expect(fleet().namespace('Ada Lovelace')).toMatch(/-ada-lovelace--[0-9a-z]{19}$/)
  await expectGone(user, await deleteLab(user))
})

test.concurrent('the balancer passes requests on to the fleet', async () => {
  const url = await fleet().balancerUrl()
  const user = fleet().user().at(url)
  await runLab(user)
  expect((await fleet().admin.at(url).delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
})

test.concurrent('the commands of docs/api.md print what the page shows', async () => {
  const page = await readFile(new URL('../../docs/api.md', import.meta.url), 'utf8')
  const [variables, ...blocks] = pastedBlocks(page)
  const API = `${fleet().url(0)}${prefix}`
  const values = { API, ADA: fleet().as('ada').token, ADMIN: fleet().admin.token }
  const commands = [withVariables(variables!.commands, values), ...blocks.map(block => block.commands)]
  const [, ...outputs] = await paste(commands, 50_000)
  expect(blocks.length).toBeGreaterThan(8)
  for (const [index, { commands, shown }] of blocks.entries()) {
    // Without a registry there are no images to show.
    if (!testBed().hasRegistry && commands.includes('$API/images')) continue
    if (!isAsShown(outputs[index]!, shown!)) expect(outputs[index], commands).toBe(shown)
  }
})
