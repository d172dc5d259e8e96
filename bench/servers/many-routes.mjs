/** The applications of many routes: the same paths for every contender. */

/** The number of routes that this contender declares, from the variable `ROUTES`. */
export const routeCount = Number(process.env.ROUTES ?? 1000)

/** Routes in one controller. */
export const routesPerController = 20

/** The static part of route `n`: `/area3/thing17`, before its `/<id:int>`. */
export const prefixOf = (n) => `/area${Math.floor(n / 100)}/thing${n % 100}`

/** What the last route, and every other, answers. */
export const answerOf = (n, id) => ({ route: n, id })
