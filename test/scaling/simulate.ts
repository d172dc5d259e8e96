/**
 * Prints the capacity plan of a load: `npm run simulate -- --requests 100000 --reads 0.9 --rows 1e9`.
 * Source: docs/scaling.md.
 */
import { describePlan } from './describe-plan.js'
import { readSettings } from './settings.js'

const settings = readSettings(process.argv.slice(2))
if ('text' in settings) {
  console.log(settings.text)
  process.exitCode = settings.failed ? 1 : 0
} else {
  console.log(describePlan(settings))
}
