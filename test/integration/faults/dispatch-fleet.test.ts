/** Attacks on fleets that dispatch, with real machines of this host. Each is a file in `dispatch/`. */
import './dispatch/cut-off.ts'
import './dispatch/emptied.ts'
import './dispatch/killed.ts'
import './dispatch/leaks.ts'
import './dispatch/liars.ts'
import './dispatch/overlaps.ts'
import './dispatch/owners.ts'
