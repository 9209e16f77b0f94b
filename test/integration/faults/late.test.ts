/** What comes too late, and what stands there already: all at once, each with a fleet of its own. */
import './conflicts.cases.ts'
import './woken.cases.ts'
