/** Steps of the demo of apps by REST: an app of a template, its page, and its log. */
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import type { KubeObject } from '../../src/base/domain.ts'
import { asObject } from '../../src/base/json.ts'
import { waitUntil } from '../process/api-client.ts'
import type { AppsContext } from './context.ts'
import { group } from './people.ts'
import type { Verdict } from './report.ts'
import { callRest, type RestSite, readUntil } from './rest.ts'
import { mustBe, pathOf, timed } from './steps.ts'
import type { Visitor } from './visitor.ts'

/** The app that ada makes, and the name of its template. */
export const oscillator = 'oscillator'
const templateId = 'shiny'
const quantum = 0.2

/** What ada fills in. */
export const oscillatorWish = {
  ...{ id: oscillator, templateId, displayName: 'Oscillator', groupName: group, scope: 'group' as const },
  env: [
    { name: 'QUANTUM', value: String(quantum) },
    { name: 'DATA_TOKEN', value: 'a-token-of-ada' },
  ],
}

/** What `dev/apps/objects/shiny.yaml` computes of a level. */
export const energyOf = (level: number): string => ((level + 0.5) * quantum).toFixed(2)

/** The template as REST takes it, from the file that `kubectl apply` takes. */
export async function templateBody(): Promise<object> {
  return asObject((parse(await readFile(pathOf(templateId), 'utf8')) as KubeObject).spec)
}

export async function putTemplate(context: AppsContext): Promise<Verdict> {
  const put = ['PUT', `/apps/admin/v1/templates/${templateId}`] as const
  const { status } = await callRest(context, 'root', put, await templateBody())
  mustBe('the answer to the template', status, 201)
  const shown = await Promise.all(context.controllers.map(({ url }) => seesTemplate({ ...context, rest: url })))
  return { step: 'root, an administrator, makes a template', saw: `ada sees it: ${shown[0]}`, seconds: null }
}

/** Waits until this controller shows the template. */
async function seesTemplate(site: RestSite & Pick<AppsContext, 'signal'>): Promise<string> {
  let name = ''
  const isThere = async () => {
    const { status, body } = await callRest(site, 'ada', ['GET', `/apps/v1/templates/${templateId}`])
    name = `${body.id}, ${body.description}`
    return status === 200
  }
  await waitUntil(isThere, { what: 'the template', limitMs: 20_000, signal: site.signal })
  return name
}

export async function makeOfTemplate(context: AppsContext): Promise<Verdict> {
  const { status, body } = await callRest(context, 'ada', ['POST', '/apps/v1/apps'], oscillatorWish)
  mustBe('the answer to the app', status, 201)
  const refused = await callRest(context, 'max', ['POST', '/apps/v1/apps'], { ...oscillatorWish, id: 'of-max' })
  mustBe('the answer to a stranger', refused.status, 403)
  const env = body.env.map((each: { name: string; value: string }) => `${each.name}=${each.value}`).join(' ')
  const saw = `201 for ada, ${env}; 403 for max`
  return { step: 'ada, and max, fill in the variables for an app of their own', saw, seconds: null }
}

const sentence = (level: number) => `It has ${energyOf(level)} eV.`

export async function seeLevels(visitor: Visitor): Promise<readonly Verdict[]> {
  const opened = await timed(async () => {
    mustBe('the page of Shiny', await visitor.open(oscillator), 200)
    await visitor.sees(sentence(0))
  })
  mustBe('a WebSocket', visitor.hasSocket, true)
  const changed = await timed(() => chooseLevel(visitor, 3))
  return [
    { step: `she opens /console/apps/${oscillator}/`, saw: sentence(0), seconds: opened },
    { step: 'she chooses the level 3', saw: `${sentence(3)} By the WebSocket`, seconds: changed },
  ]
}

async function chooseLevel(visitor: Visitor, level: number): Promise<void> {
  const field = visitor.page.getByLabel('Level')
  await field.fill(String(level))
  await field.press('Tab')
  await visitor.sees(sentence(level))
}

/** She follows the log of the pod by REST, and changes the page meanwhile. */
export async function readLog(context: AppsContext, visitor: Visitor): Promise<readonly Verdict[]> {
  const { body } = await callRest(context, 'ada', ['GET', `/apps/v1/apps/${oscillator}/pods`])
  const path = `/api/logs/pods/${body.pods[0].name}`
  const line = `level 5: ${energyOf(5)} eV`
  const onOpen = () => chooseLevel(visitor, 5)
  let log = ''
  const seconds = await timed(async () => {
    log = await readUntil(context, 'ada', `${path}?follow=true`, { words: line, onOpen, signal: context.signal })
  })
  mustBe('what the log has from before', log.includes(`level 3: ${energyOf(3)} eV`), true)
  const stranger = await callRest(context, 'max', ['GET', path])
  mustBe('the log for a stranger', stranger.status, 403)
  return [
    {
      step: `ada follows GET ${path}, and chooses the level 5`,
      saw: `${log.trimEnd().split('\n').length} lines, the last one: ${line}`,
      seconds,
    },
    { step: 'max asks for it', saw: `403, ${stranger.body.detail[0].msg}`, seconds: null },
  ]
}
