/**
 * Runs the attacks of this folder against the built package: `npm run attacks`, `npm run attacks -- upload` for those whose
 * name contains the word. Prints what each attack got before and what it gets now. Exits with 1 if one of them still works.
 */
import { loadAttacks } from './load.js'

const word = process.argv[2] ?? ''
const attacks = (await loadAttacks()).filter(({ name }) => name.includes(word))
let failures = 0
for (const attack of attacks) {
  let line: string
  try {
    const { now, isBlocked } = await attack.run()
    if (!isBlocked) failures++
    line = `${isBlocked ? 'blocked' : 'WORKS'}: ${now}`
  } catch (error) {
    failures++
    line = `FAILED: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
  }
  console.log(`${attack.name}\n  before: ${attack.before}\n  now:    ${line}`)
}
console.log(`${attacks.length - failures} of ${attacks.length} attacks blocked`)
process.exit(failures === 0 && attacks.length > 0 ? 0 : 1)
