/** Brings the contenders of a row up, one after the other, and goes round them. */
import { assertSameAnswers } from './same-answer.mjs'
import { startServer } from './servers.mjs'

const runsFiligree = ({ file = '' }) => /(^|\/)filigree[^/]*$/.test(file)

/** What the names of those begin with that run the build of another checkout. */
const besideName = 'Filigree beside'
export const isBesideName = (name) => name.startsWith(besideName)

/** A contender that runs Filigree, and the same with the build of another checkout. @param contender also `of`, its name */
export function withOther(contender) {
  if (!runsFiligree(contender)) return [contender]
  const { name } = contender
  const rest = name.startsWith('Filigree') ? name.slice('Filigree'.length) : `, ${name}`
  return [contender, { ...contender, name: besideName + rest, of: name, isBeside: true }]
}

/** The row's contenders whose name begins as one of those wanted, whatever its case; all without any. Those of a row about Filigree alone have names of their own. */
export function selectContenders(all, { contenders: beginnings, beside }) {
  const contenders = beside === undefined ? all : all.flatMap(withOther)
  if (!beginnings) return contenders
  const wanted = beginnings.map((beginning) => beginning.toLowerCase())
  const namesOf = (contender) => [contender.name, runsFiligree(contender) ? 'Filigree' : '']
  return contenders.filter((contender) =>
    namesOf(contender).some((name) =>
      wanted.some((beginning) => name.toLowerCase().startsWith(beginning)),
    ),
  )
}

/**
 * Starts every contender and checks its answers, by its own `probes` where it has any. One that fails is stopped, noted in `failures`, and left out.
 *
 * @returns `[{ contender, server }]` of those that are up and answer alike
 */
export async function startContenders(contenders, { env, probes = [], failures }) {
  const started = []
  for (const contender of contenders) {
    let server
    try {
      server = await startServer(contender, env)
      const { name, of = name } = contender
      await assertSameAnswers(of, server.url, contender.probes ?? probes)
      started.push({ contender, server })
    } catch (error) {
      await server?.stop()
      failures.push({ contender: contender.name, reason: error.message })
    }
  }
  return started
}

/**
 * Runs `measure` for A B C, A B C, … so that slow seconds of the machine affect all of them.
 *
 * @returns `{ contender: [one result a round] }`; one that throws is noted in `failures` and left out from then on
 */
export async function alternate(names, rounds, measure, failures) {
  const results = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of Object.keys(results)) {
      try {
        results[name].push(await measure(name, round))
      } catch (error) {
        failures.push({ contender: name, reason: error.message })
        delete results[name]
      }
    }
  }
  return results
}
