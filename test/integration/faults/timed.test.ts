/**
 * Faults after which a take-over is timed: their replicas mostly wait, so beside each other they are not late. Those that
 * keep the processors busy come before and after them.
 */
import './full.attack.ts'
import './worst.attack.ts'
import './term.attack.ts'
import './spin.attack.ts'
import './letting-go.attack.ts'
