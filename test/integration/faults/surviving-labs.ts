/** Running labs when Redis loses its data. No answer may deny, change or restart them. */
import { isDeepStrictEqual } from 'node:util'
import type { Trial } from '../../kit/attack/attack.ts'
import type { Answer, Client, StatusAnswer } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import type { Question } from './traffic.ts'

export interface SurvivingLab {
  readonly user: Client
  readonly before: StatusAnswer
  readonly podUid: string
}

const withoutEvents = ({ events: _, ...rest }: StatusAnswer) => rest
const podUidOf = async (fleet: Fleet, { username }: Client) => (await fleet.world.podOf(username))?.metadata.uid

/** Makes a lab with every kind of entry in its status. */
export async function run(user: Client): Promise<void> {
  const env = { PLAIN: user.username, API_TOKEN: 'hidden', JUPYTERHUB_SERVICE_PREFIX: `/nb/user/${user.username}/` }
  await user.create({ image_type: ['recommended'], size: ['medium'], enable_debug: 'true' }, { env })
  await user.follow()
}

export async function startSurvivor(fleet: Fleet): Promise<SurvivingLab> {
  const user = fleet.user()
  await run(user)
  return { user, before: (await user.userStatus()).body, podUid: await podUidOf(fleet, user) }
}

/** Requests for repetition, each with the answers that are allowed at any moment. */
export function survivingChecks(fleet: Fleet, { random }: Trial, survivors: readonly SurvivingLab[]): Question[] {
  const admin = (url: string) => fleet.admin.at(url)
  const names = survivors.map(({ user }) => user.username)
  const isAsBefore = ({ status, body }: Answer<unknown>, { before }: SurvivingLab) =>
    status === 200 && isDeepStrictEqual(withoutEvents(body as StatusAnswer), withoutEvents(before))
  const some = () => survivors[Math.floor(random() * survivors.length)]!
  return [
    {
      what: 'GET labs',
      ask: url => admin(url).labs(),
      allows: ({ status, body }) => status === 200 && names.every(name => (body as string[]).includes(name)),
    },
    ...survivors.map(each => ({
      what: `GET of ${each.user.username}, whose lab survives`,
      ask: (url: string) => admin(url).status(each.user.username),
      allows: (answer: Answer<unknown>) => isAsBefore(answer, each),
    })),
    { what: 'create', ask: url => some().user.at(url).create(), allows: ({ status }) => status === 409 },
    {
      what: 'user-status',
      ask: url => some().user.at(url).userStatus(),
      allows: ({ status, body }) => status === 200 && (body as StatusAnswer).status === 'running',
    },
  ]
}

/** The labs have their former pods, and streams that say that they run. */
export async function expectSurvived(trial: Trial, fleet: Fleet, survivors: readonly SurvivingLab[]): Promise<void> {
  for (const { user, podUid } of survivors) {
    if ((await podUidOf(fleet, user)) !== podUid) trial.violation(`P7 ${user.username} has another pod`)
    const { outcome } = await user.follow()
    if (outcome !== 'complete') trial.violation(`P7 the stream of ${user.username} ends with ${outcome}`)
  }
}
