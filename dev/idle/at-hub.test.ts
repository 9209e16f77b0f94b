import { expect, it } from 'vitest'
import { noticeOf } from '../../src/form/notice.ts'
import { offerTo } from '../../src/form/offer.ts'
import { type LabOffer, renderForm } from '../../src/form/render.ts'
import { exampleCaller, exampleCatalogue, exampleConfig, examplePrepulled } from '../../test/kit/form/offer.ts'
import { noticeIn, pollIn } from './at-hub.ts'

it('pollIn finds the last answer for this user, in the words of a running and of a starting Hub', () => {
  const log = `[W 2026-11-26 22:00:00 JupyterHub base:1387] User ada server stopped, with exit code: 2
[W 2026-11-26 22:01:00 JupyterHub base:1387] User ada-2 server stopped, with exit code: 1
[W 2026-11-26 22:02:00 JupyterHub app:3051] User ada server stopped with exit code: 0
`
  expect(['ada', 'ada-2', 'grace'].map(name => pollIn(log, name))).toEqual([0, 1, null])
})

it('noticeIn finds what the form says of the last stop', () => {
  const notice = noticeOf({ ms: 0, words: 'stopped after 60 s without activity (rule demo)' }, 0)
  const config = exampleConfig()
  const offer = offerTo(exampleCaller, config, { catalogue: exampleCatalogue, prepulled: examplePrepulled }) as LabOffer
  const form = (more: Partial<LabOffer>) => renderForm(config.form, { ...offer, ...more })
  expect(noticeIn(form({ notice }))).toBe(notice)
  expect(noticeIn(form({}))).toBeNull()
})
