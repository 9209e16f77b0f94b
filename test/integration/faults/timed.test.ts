/**
 * Faults after which a take-over is timed: their replicas mostly wait, so beside each other they are not late. Those that
 * keep the processors busy come before and after them.
 */
import './full.cases.ts'
import './worst.cases.ts'
import './term.cases.ts'
import './spin.cases.ts'
import './letting-go.cases.ts'
