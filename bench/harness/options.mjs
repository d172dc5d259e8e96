/** Reads the command line of `npm run bench`. */
import { parseArgs } from 'node:util'

const usage = `npm run bench -- [options]

  --row NAMES        rows to run, by comma: get,post,… (default: all)
  --contender NAME   contenders whose name begins so; may be repeated (default: all of the row)
  --beside FOLDER    another checkout that is built: its Filigree runs beside this one
  --rounds N         alternating rounds A B C A B C … (default 3)
  --seconds N        length of one round (default 4)
  --warmup N         seconds of load before the first round (default 2)
  --connections N    kept-alive connections of the load (default 64)
  --starts N         process starts per contender in the rows that time a start (default 11)
  --size MIB         size of one upload in MiB (default 1024)
  --requests N       requests of the memory row (default 1000000)
  --load NAME        wrk or autocannon (default: wrk where it is installed)
  --out FILE         where the results are written, with the chart next to it (default results.json)
  --save, --no-save  store the results or only print them (default: store with --out, and complete
                     rows of at least 3 rounds of 3 seconds at the default sizes)
`

const flags = {
  row: { type: 'string' },
  contender: { type: 'string', multiple: true },
  beside: { type: 'string' },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '4' },
  warmup: { type: 'string', default: '2' },
  connections: { type: 'string', default: '64' },
  starts: { type: 'string', default: '11' },
  size: { type: 'string', default: '1024' },
  requests: { type: 'string', default: '1000000' },
  load: { type: 'string' },
  out: { type: 'string' },
  save: { type: 'boolean' },
  help: { type: 'boolean', default: false },
}

function readNumber(values, name, least) {
  const number = Number(values[name])
  if (Number.isInteger(number) && number >= least) return number
  throw new Error(`--${name} ${values[name]}: a whole number of at least ${least} is expected.`)
}

/** Whether a run is long and whole enough to stand in `results.json`. */
const isFull = ({ contenders, beside, rounds, seconds, warmup, starts, size, requests }) =>
  !contenders &&
  !beside &&
  rounds >= 3 &&
  seconds >= 3 &&
  warmup >= 2 &&
  starts >= 5 &&
  size >= 1024 &&
  requests >= 1_000_000

/**
 * @returns the options, numbers as numbers, `rows` and `contenders` (beginnings of names) as lists or `undefined` for all; `help` holds the text to print when it was asked for
 * @throws {Error} on an unknown flag or a value that is no whole number
 */
export function readOptions(args) {
  const { values } = parseArgs({ args, options: flags, allowNegative: true })
  const options = {
    rows: values.row?.split(',').map((name) => name.trim()),
    contenders: values.contender,
    beside: values.beside,
    rounds: readNumber(values, 'rounds', 1),
    seconds: readNumber(values, 'seconds', 1),
    warmup: readNumber(values, 'warmup', 0),
    connections: readNumber(values, 'connections', 1),
    starts: readNumber(values, 'starts', 1),
    size: readNumber(values, 'size', 1),
    requests: readNumber(values, 'requests', 1),
    load: values.load,
    out: values.out ?? 'results.json',
    help: values.help ? usage : undefined,
  }
  return { ...options, save: values.save ?? (values.out !== undefined || isFull(options)) }
}
