/**
 * Runs third-party tools on the project. They are installed into a separate folder, because some are larger than the project.
 *
 *     npm run test:tools                    all of them
 *     npm run test:tools -- relay prism     these alone
 */
import { attw, publint, size } from './package-tools.js'
import { prism } from './prism.js'
import { relay } from './relay.js'

const tools: Readonly<Record<string, () => string | Promise<string>>> = {
  publint,
  attw,
  size,
  relay,
  prism,
}

const names = process.argv.slice(2)
for (const name of names)
  if (!Object.hasOwn(tools, name))
    throw new Error(`There is no tool "${name}". There are: ${Object.keys(tools).join(', ')}.`)

for (const [name, run] of Object.entries(tools)) {
  if (names.length > 0 && !names.includes(name)) continue
  try {
    console.log(`passed  ${await run()}`)
  } catch (error) {
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}
