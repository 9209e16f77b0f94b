/** Attacks on the stop of idle apps: `npm run faults -- faults/idle-apps`, `-t '^apps K3 '`. Each is a file in `idle-apps/`. */
import { afterAll } from 'vitest'
import './idle-apps/unknown.ts'
import './idle-apps/touched.ts'
import './idle-apps/incarnations.ts'
import './idle-apps/killed.ts'
import './idle-apps/emptied.ts'
import './idle-apps/fuse.ts'
import { stopIdleApps } from './idle-apps/shared.ts'

afterAll(stopIdleApps)
