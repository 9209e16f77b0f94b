/** Attacks on fleets that dispatch, with real machines of this host. Each is a file in `dispatch/`. */
import './dispatch/overlaps.ts'
