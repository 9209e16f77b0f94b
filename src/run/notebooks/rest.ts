/** Joins REST of a process for notebooks. Loaded only where it can know who asks. */
import { createActivityApi } from '../../api/activity/standalone.ts'
import { joinOwnRest, type OwnRest } from '../own-rest.ts'
import type { NotebookReplica } from './replica.ts'

export type Rest = Omit<OwnRest, 'auditor'>

export const joinRest = ({ basics, service }: NotebookReplica): Rest =>
  joinOwnRest(basics, parts => createActivityApi({ ...parts, activity: service }))
