/** The pages of the gateway: what visitors get where an app does not answer. They have no script. Pure. */
import { html, raw } from 'hono/html'
import type { AppPhase, AppRoute } from '../../base/app-route.ts'
import { pageHeaders, pageStyle, policyHeader } from './page-style.ts'

/** An answer that is complete. */
export interface Page {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type Markup = ReturnType<typeof raw>

/** The framework's template escapes all inserted values, in text and in attributes. Nothing here is awaited. */
const markup = html as (strings: TemplateStringsArray, ...values: unknown[]) => Markup

/** Text of any direction. */
const words = (text: string) => markup`<bdi>${text}</bdi>`

interface PageParts {
  readonly status: number
  readonly title: string
  readonly content: Markup
  readonly headers?: Readonly<Record<string, string>>
}

function page({ status, title, content, headers = {} }: PageParts): Page {
  const body = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${raw(pageStyle)}</style>
</head>
<body>
<main>
<h1>${words(title)}</h1>
${content}
</main>
</body>
</html>
`
  return { status, headers: { ...pageHeaders, ...headers }, body: body.toString() }
}

export interface LoginForm {
  /** Where the login leads, as `checkNext` returned it. */
  readonly next?: string | undefined
  /** Why the last try failed. The page does not say whether a token exists. */
  readonly problem?: string | undefined
  /** Where forms may lead beside the gateway's own origin: some browsers follow no redirect of a form to elsewhere. */
  readonly alsoTo?: string | undefined
}

/** The form for a token (`gateway.login: static`). It is posted to its own address. */
export function loginPage({ next, problem, alsoTo }: LoginForm): Page {
  const content = markup`${problem !== undefined && markup`<p class="words" role="alert">${words(problem)}</p>\n`}
<form method="post" action="/console/login">
${next !== undefined && markup`<input type="hidden" name="next" value="${next}">`}
<label>Token<input type="password" name="token" required autocomplete="current-password"></label>
<button type="submit">Log in</button>
</form>`
  return page({ status: problem === undefined ? 200 : 401, title: 'Log in', content, headers: policyHeader(alsoTo) })
}

/** For somebody who is logged in, and asked for no app. @param token the form token for `logout` */
export function loggedInPage(user: string, token: string): Page {
  const content = markup`<p>You are ${words(user)}. Open an app by its own address.</p>
${actionForm('/console/logout', token, 'Log out')}`
  return page({ status: 200, title: 'You are logged in', content })
}

export function loggedOutPage(): Page {
  const content = markup`<p>Your apps are closed in this browser. <a href="/console/login">Log in again</a></p>`
  return page({ status: 200, title: 'You are logged out', content })
}

/**
 * After a logout, where the identity source has a session of its own.
 * @param elsewhere where that ends; the browser goes there at once
 */
export function farewellPage(elsewhere: string): Page {
  const content = markup`<p>Your apps are closed in this browser. <a href="${elsewhere}">Log out there too</a>, where you logged
in: else the next login needs no password.</p>`
  return page({ status: 200, title: 'You are logged out', content, headers: { Refresh: `0; url=${elsewhere}` } })
}

export interface FailedLogin {
  readonly status: number
  /** What happened, and what to do. */
  readonly says: string
  /** Where the login was to lead. */
  readonly next?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** For a login that led to nothing. */
export function failedLoginPage({ status, says, next, headers = {} }: FailedLogin): Page {
  const again = next === undefined ? '/console/login' : `/console/login?next=${encodeURIComponent(next)}`
  const content = markup`<p role="alert">${words(says)}</p>
<p><a href="${again}">Log in again</a></p>`
  return page({ status, title: 'You are not logged in', content, headers })
}

/** For a login where somebody else is logged in. The link leads to the form that logs out. */
export function logOutFirstPage({ status, says }: Pick<FailedLogin, 'status' | 'says'>): Page {
  const content = markup`<p role="alert">${words(says)} If it is not you who wanted to log in, nothing needs to be done.</p>
<p><a href="/console/login">Log out</a> first, and then log in again.</p>`
  return page({ status, title: 'Log out first', content })
}

/** Words, and where to go on. */
export interface LinkPage {
  readonly status: number
  readonly title: string
  readonly says: string
  readonly to: string
  /** The text of the link. */
  readonly name: string
}

export function linkPage({ status, title, says, to, name }: LinkPage): Page {
  const content = markup`<p role="alert">${words(says)}</p>
<p><a href="${to}">${name}</a></p>`
  return page({ status, title, content })
}

/** For somebody who is logged in, but not of the group. */
export function forbiddenPage({ displayName, id, group }: AppRoute): Page {
  const content = markup`<p>The app ${words(displayName || id)} is for members of the group ${words(group)}.
You are not one of them.</p>
<p class="muted">Somebody of this group can ask for your membership.</p>`
  return page({ status: 403, title: 'This app is not for you', content })
}

export function notFoundPage(): Page {
  const content = markup`<p>There is no app at this address. It may have been removed, or the address has a mistake.</p>`
  return page({ status: 404, title: 'Nothing is here', content })
}

/** Seconds after which a browser looks again, where the app changes by itself. */
const lookAgainSeconds = 5
const retryLaterSeconds = 60

const phaseTitles: Readonly<Record<AppPhase, string>> = {
  Starting: 'The app is starting',
  Ready: 'The app has no web page',
  Updating: 'The app has no web page',
  Stopping: 'The app is stopping',
  Stopped: 'The app is stopped',
  Error: 'The app does not work',
}

/** How the app is started, for those who may: by a form with this token, or by a page elsewhere that has one. */
export type Start = { readonly token: string } | { readonly at: string }

/** For an app that cannot be reached now. */
export function phasePage({ id, displayName, phase, message }: AppRoute, start?: Start): Page {
  const isOnItsWay = phase === 'Starting' || phase === 'Stopping'
  const content = markup`<p>${words(displayName || id)}: <strong>${phase}</strong></p>
${message !== '' && markup`<p class="words">${words(message)}</p>`}
${isOnItsWay && markup`<p class="muted">This page looks again every ${lookAgainSeconds} seconds.</p>`}
${phase === 'Stopped' && start !== undefined && startOf(id, start)}`
  const seconds = isOnItsWay ? lookAgainSeconds : retryLaterSeconds
  // A header, not an element: the reader can stop it, and it needs no permission of the policy.
  const again = isOnItsWay ? { Refresh: String(lookAgainSeconds) } : {}
  return page({
    status: 503,
    title: phaseTitles[phase],
    content,
    headers: { 'Retry-After': String(seconds), ...again },
  })
}

const startOf = (id: string, start: Start): Markup =>
  'token' in start
    ? actionForm(`/console/start/${id}`, start.token, 'Start')
    : markup`<p><a href="${start.at}">Start it</a>, if you are of its group.</p>`

/** For an app that has just been asked to start. */
export function startedPage(route: AppRoute): Page {
  return phasePage({ ...route, phase: 'Starting', message: 'Somebody has asked to start it.' })
}

/** Something that the gateway cannot do now, or at all. */
export interface Problem {
  readonly status: number
  readonly title: string
  /** What it means for the visitor. */
  readonly says: string
  readonly headers?: Readonly<Record<string, string>>
}

const retry = { 'Retry-After': '1' }

/** The problems that the gateway itself finds, by what the pump says in the end or which bound was met. */
export const problems = {
  refused: { status: 502, title: 'The app gives no answer', says: 'It refused the connection, or broke it off.' },
  silent: { status: 504, title: 'The app gives no answer', says: 'It was silent for too long.' },
  unframed: { status: 501, title: 'The request cannot be passed on', says: 'Its body has an unknown coding.' },
  busy: { status: 503, title: 'The app is busy', says: 'It has too many requests at once. Try again.', headers: retry },
  unavailable: {
    ...{
      status: 503,
      title: 'The gateway is not ready',
      says: 'It cannot check who you are. Try again.',
      headers: retry,
    },
  },
} as const satisfies Readonly<Record<string, Problem>>

export function problemPage({ status, title, says, headers = {} }: Problem): Page {
  return page({ status, title, content: markup`<p>${words(says)}</p>`, headers })
}

function actionForm(action: string, token: string, name: string): Markup {
  return markup`<form method="post" action="${action}">
<input type="hidden" name="token" value="${token}">
<button type="submit">${name}</button>
</form>`
}
