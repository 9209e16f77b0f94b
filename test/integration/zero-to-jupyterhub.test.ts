/** The example for Zero to JupyterHub: a real Hub with its values, a login at an OpenID provider, and real replicas. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Hub, startHub } from '../../dev/hub/hub.ts'
import { startProcess, stopProcess } from '../../dev/process/process.ts'
import { createProgress } from '../../dev/process/progress.ts'
import { launchBrowser } from '../../dev/setup/browser.ts'
import { hubPackage } from '../../dev/setup/jupyterhub.ts'
import { pythonEnvironment } from '../../dev/setup/python.ts'
import { eventually } from '../kit/cluster/world.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { type Container, helmConfig, readExample, type Values, valuesFor } from '../kit/hub/helm.ts'
import { nowSeconds } from '../kit/identity/issuer.ts'
import { claimsIn, clientSecret, OpenIdProvider } from '../kit/identity/openid.ts'

const requirements = fileURLToPath(new URL('../../hub/requirements/zero-to-jupyterhub.txt', import.meta.url))
/** The first run installs an environment. */
const startLimitMs = 300_000
/** Of one step on a page: a lab stops on a machine that is busy too. */
const pageLimitMs = 90_000

/** Of a service of this site that reads which services the Hub has. */
const readerToken = randomBytes(32).toString('hex')

let provider: OpenIdProvider
let hub: Hub
let browser: Browser
/** The file in which the sidecar keeps the Hub's own token. */
let tokenFile: string

const fleet = useFleet(async () => {
  provider = await OpenIdProvider.start()
  const authorization = `Bearer ${await provider.serviceToken()}`
  const { identity, network, idle } = readExample('skylab.yaml')
  const oidc = { ...identity.oidc, issuer: provider.url }
  // The token in the lab shows which one the Hub sent.
  const config = { identity: { ...identity, oidc }, network, idle, lab: { token: 'bearer' as const } }
  return { replicas: 2, users: 0, config, credentials: () => ({ authorization }) }
})

/** A server in place of all labs: nothing runs in pods of KWOK. */
const labServer = createServer(({ url }, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html', 'X-JupyterHub-Version': '5.5.0' })
  response.end(`<h1>Here is ${url}</h1>`)
})

/** Additions of this site to the example; its name makes them run last. */
const placeCode = `
import os
from importlib.metadata import entry_points

(spawner,) = entry_points(group="jupyterhub.spawners", name=c.JupyterHub.spawner_class)


class SpawnerOnKwok(spawner.load()):
    """Sends users to the one server in place of all labs, once theirs runs."""

    async def start(self):
        await super().start()
        return os.environ["LAB_URL"]

    async def get_url(self):
        return os.environ["LAB_URL"]


c.JupyterHub.spawner_class = SpawnerOnKwok
c.GenericOAuthenticator.oauth_callback_url = os.environ["HUB_URL"] + "/hub/oauth_callback"
# Looks at a login for each request, not every five minutes.
c.GenericOAuthenticator.auth_refresh_age = -1
c.JupyterHub.services.append({"name": "reader", "api_token": os.environ["READER_TOKEN"]})
c.JupyterHub.load_roles.append({"name": "reader", "services": ["reader"], "scopes": ["list:services"]})
`

const placeValues = (controllerUrl: string): Values => ({
  hub: {
    config: {
      GenericOAuthenticator: { authorize_url: `${provider.url}/auth`, token_url: `${provider.url}/token` },
      RESTSpawner: { controller_url: `${controllerUrl}/nublado/spawner/v1`, hub_token_file: tokenFile },
    },
    extraConfig: { '99-place': placeCode },
  },
})

/** Runs the container that fetches the Hub's token, unchanged except for its addresses. */
async function startSidecar(environment: string, values: Values): Promise<void> {
  const [container] = (values.hub as { initContainers: Container[] }).initContainers
  const { name, args, env } = container!
  const own = { TOKEN_URL: `${provider.url}/token`, TOKEN_FILE: tokenFile, CLIENT_SECRET: clientSecret }
  await startProcess({
    ...{ name, stateDir: fleet().stateDir, args: args.slice(1) },
    command: join(environment, 'bin', args[0]!),
    env: { ...Object.fromEntries(env.map(each => [each.name, each.value])), ...own },
  })
}

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

beforeAll(async () => {
  const { stateDir } = fleet()
  tokenFile = join(stateDir, 'hub-own-token')
  const environment = await pythonEnvironment({ name: 'z2jh', requirements, progress: createProgress() })
  const values = valuesFor(placeValues(await fleet().balancerUrl()))
  const valuesFile = join(stateDir, 'values.json')
  await writeFile(valuesFile, JSON.stringify(values))
  await startSidecar(environment, values)
  await new Promise<void>(resolve => labServer.listen(0, '127.0.0.1', resolve))
  hub = await startHub({
    ...{ stateDir, environment, address: '127.0.0.1', names: null, config: helmConfig },
    ...{ package: await hubPackage(stateDir, environment), controllerUrl: '', token: '' },
    // Service and namespace together form the Hub's address: here they are 127.0.0.1.
    env: {
      ...{ HELM_VALUES: valuesFile, POD_NAMESPACE: '1', OAUTH_CLIENT_SECRET: clientSecret },
      ...{ LAB_URL: urlOf(labServer), READER_TOKEN: readerToken },
    },
  })
  provider.serve(`${hub.url}/hub/oauth_callback`)
  browser = await launchBrowser()
}, startLimitMs)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  await stopProcess(fleet().stateDir, 'hub-token', 0)
  labServer.close()
  await provider?.stop()
})

/** Logs in at the provider; returns the page with the lab form. */
async function login(username: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(pageLimitMs)
  await page.goto(`${hub.url}/hub/spawn`)
  await page.getByRole('button', { name: /^Sign in with/ }).click()
  await page.getByPlaceholder('Enter any login').fill(username)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Choose your lab' }).waitFor()
  return page
}

/** Chooses a size, and waits until the browser has reached the lab. */
async function spawn(page: Page): Promise<void> {
  await page.getByRole('radio', { name: /^Medium/ }).check()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'Here is /user/' }).waitFor()
}

const tokenInLab = (username: string) => secretOf(username, `nb-${username}`, 'token')

async function secretOf(username: string, name: string, key: string): Promise<string> {
  const objects = await fleet().world.objectsOf(username)
  const { data } = objects.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === name)!
  return Buffer.from((data as Record<string, string>)[key]!, 'base64').toString()
}

/** The status of the Hub's answer to the user's lab, with the lab's own token. */
async function answerToLab(username: string): Promise<number> {
  const token = await secretOf(username, `nb-${username}-env`, 'JUPYTERHUB_API_TOKEN')
  const headers = { Authorization: `token ${token}` }
  return (await fetch(`${hub.hubUrl}/hub/api/user`, { headers })).status
}

test('a user who logs in at the provider gets the form, the chosen lab, and access to it', async () => {
  const page = await login('ada')
  await spawn(page)
  const { status, body } = await fleet().admin.status('ada')
  expect([status, body.status, body.options]).toEqual([200, 'running', expect.objectContaining({ size: 'medium' })])
  expect(body).toMatchObject({ uid: 4001, env: { JUPYTERHUB_API_URL: `${hub.hubUrl}/hub/api` } })
  const [token, own] = [await tokenInLab('ada'), await readFile(tokenFile, 'utf8')]
  expect(claimsIn(token)).toMatchObject({ aud: 'skylab', sub: 'ada', scope: 'exec:notebook' })
  expect(claimsIn(own)).toMatchObject({ aud: 'skylab', scope: 'admin:jupyterlab' })

  await page.goto(`${hub.url}/hub/home`, { waitUntil: 'networkidle' })
  await page.getByRole('button', { name: 'Stop My Server' }).click()
  await page.getByRole('button', { name: 'Start My Server' }).waitFor()
  // The Hub shows the button after 10 s also while the cluster still removes the namespace.
  await eventually('the lab has gone', async () => (await fleet().admin.status('ada')).status === 404)
  for (const secret of [token, own, clientSecret]) expect(hub.log().includes(secret)).toBe(false)
})

test('the Hub has no culler of its own while Skylab stops labs that nobody uses', async () => {
  const headers = { Authorization: `token ${readerToken}` }
  const services = await (await fetch(`${hub.hubUrl}/hub/api/services`, { headers })).json()
  expect(Object.keys(services as object)).toEqual(['reader'])
  const admin = { Authorization: `Bearer ${await readFile(tokenFile, 'utf8')}` }
  const policy = await fetch(`${await fleet().balancerUrl()}/activity/admin/v1/policy`, { headers: admin })
  expect(await policy.json()).toMatchObject({ rules: [{ name: 'all', idleTimeoutSeconds: 86_400 }] })
})

test('a token in the second half of its life is renewed before a lab starts with it', async () => {
  provider.lifeSeconds = 2
  const page = await login('grace')
  const loggedIn = nowSeconds()
  provider.lifeSeconds = 600
  await eventually('half of its life is over', async () => nowSeconds() > loggedIn + 1)
  await spawn(page)
  const { iat, exp } = claimsIn(await tokenInLab('grace'))
  expect([exp! - iat!, provider.grants.at(-1)]).toEqual([600, 'refresh_token'])
})

describe('a failed renewal', () => {
  beforeEach(() => {
    provider.agedSeconds = 601
    provider.lifeSeconds = 600
  })
  afterEach(() => {
    provider.agedSeconds = 0
    provider.lifeSeconds = 600
  })

  test('keeps users logged in when the provider is away', async () => {
    const page = await login('edsger')
    await provider.whileAway(async () => {
      await page.goto(`${hub.url}/hub/home`)
      await page.getByRole('button', { name: 'Start My Server' }).waitFor()
      expect(hub.log()).toContain('The token of edsger was not renewed')
    })
    await page.goto(`${hub.url}/hub/spawn`)
    await spawn(page)
    expect(provider.grants.at(-1)).toBe('refresh_token')
  })

  test('keeps a lab when it is final; then its user has to log in again', async () => {
    const page = await login('barbara')
    await spawn(page)
    provider.lifeSeconds = 1
    expect(await answerToLab('barbara')).toBe(200)
    const over = nowSeconds() + 1
    provider.serve(`${hub.url}/hub/oauth_callback`)
    await eventually('the token is over', async () => nowSeconds() > over)
    expect(await answerToLab('barbara')).toBe(200)
    expect(hub.log()).toContain('The token of barbara was not renewed')

    // The page's script loads later: before that a click does nothing.
    await page.goto(`${hub.url}/hub/home`, { waitUntil: 'networkidle' })
    await page.getByRole('button', { name: 'Stop My Server' }).click()
    await page.getByRole('button', { name: 'Start My Server' }).waitFor()
    await page.goto(`${hub.url}/hub/home`)
    await page.getByRole('button', { name: /^Sign in with/ }).waitFor()
  })
})
