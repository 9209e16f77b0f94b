/** For tests of the images that replicas report and run: an installation that prepulls onto nodes of its own. */
import { isDeepStrictEqual } from 'node:util'
import { afterAll, expect } from 'vitest'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import type { PrepullsJson } from '../../../src/api/images/json.ts'
import { eventually } from '../cluster/world.ts'
import { type Fleet, useFleet } from '../fleet/fleet.ts'
import { PrepullSite, type TestNode } from './prepull.ts'

type Images = NonNullable<ConfigInput['images']>

/** Each tag names an image of its own, except aliases. */
export const distinct = (tags: readonly string[], aliases: Readonly<Record<string, string>>) =>
  new Map([...tags.map((tag): [string, string] => [tag, tag]), ...Object.entries(aliases)])

/** Two replicas with a configuration of images and nodes of their own. */
export function useInstallation(nodes: Readonly<Record<string, TestNode>>, images: () => Promise<Images>) {
  let site: PrepullSite | undefined
  afterAll(() => site?.close())
  const fleet = useFleet(async () => {
    const made = new PrepullSite(null)
    site = made
    await Promise.all(Object.entries(nodes).map(([node, shape]) => made.addNode(node, shape)))
    const { nodeSelector, tolerations } = made.config.lab
    const config = { images: { prepull: { maxAtOnce: 10 }, ...(await images()) }, lab: { nodeSelector, tolerations } }
    return { replicas: 2, installation: made.installation, config }
  })
  return { fleet, site: () => site! }
}

/** Waits until both replicas give this answer. */
export async function bothAnswer<Body>(
  fleet: Fleet,
  path: string,
  due: Body,
  part = (body: Body) => body,
): Promise<void> {
  let bodies: unknown[] = []
  const isDue = async () => {
    const answers = await Promise.all(fleet.urls.map(url => fleet.admin.at(url).request<Body>(path)))
    bodies = answers.map(({ status, body }) => (status === 200 ? part(body) : body))
    return bodies.every(body => isDeepStrictEqual(body, due))
  }
  await eventually(path, isDue, 30_000).catch(() => {})
  for (const body of bodies) expect(body).toEqual(due)
}

/** Compares only nodes of the installation: other tests have nodes on the same cluster. */
export function prepullsAre(fleet: Fleet, site: PrepullSite, due: PrepullsJson): Promise<void> {
  const ours = ({ nodes, ...rest }: PrepullsJson) => ({
    ...rest,
    nodes: nodes.filter(({ name }) => name.startsWith(site.name(''))),
  })
  return bothAnswer(fleet, 'prepulls', due, ours)
}

/** Makes a lab. Returns the image that its pod pulls. */
export async function pulledFor(fleet: Fleet, options: object): Promise<string> {
  const user = fleet.user()
  const { status, body } = await user.create({ size: 'small', ...options })
  expect(status, JSON.stringify(body)).toBe(303)
  const pod = await eventually('the pod', () => fleet.world.podOf(user.username))
  return pod.spec.containers[0].image
}

/** The references in the form: radio buttons and menu. */
export async function formOf(fleet: Fleet): Promise<{ radios: string[]; menu: string[] }> {
  const user = fleet.user()
  const { body } = await user.request<string>(`lab-form/${user.username}`)
  const valuesOf = (before: string) => [...body.matchAll(new RegExp(`${before} value="([^"]+)"`, 'g'))].map(m => m[1]!)
  return { radios: valuesOf('name="image_list"'), menu: valuesOf('<option') }
}

/** Expects a 422 for an image that vanished after the user saw it in the form; the error names the user's option. */
export async function expectVanished(fleet: Fleet, options: { readonly [option: string]: string }, tag: string) {
  const { status, body } = await fleet.user().create({ size: 'small', ...options })
  expect(status).toBe(422)
  expect(body.detail[0]).toMatchObject({
    loc: ['body', 'options', Object.keys(options).at(-1)],
    msg: expect.stringContaining(tag),
  })
}

/** Options as a form posts them for a choice in its menu. */
export const fromMenu = (reference: string) => ({ image_list: 'use_image_from_dropdown', image_dropdown: reference })
