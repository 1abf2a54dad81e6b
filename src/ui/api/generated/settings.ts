// Generated from src/model/settings.ts by test/docs/settings.test.ts.

/** The settings in the order of the form. */
export const FIELDS = [
  {"name":"task","kind":"text","label":"Task","help":"The name of the task to run"},
  {"name":"enabled","kind":"flag","label":"Enabled","help":"Whether the schedule runs or is paused. Kalends changes it only on request","default":true,"values":{"false":"no","true":"yes"}},
  {"name":"timer","kind":"text","label":"Timer","help":"When the schedule runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless the timer names a zone. A timer with a full date runs once"},
  {"name":"args","kind":"json","label":"Args","help":"Arguments for the task, as JSON","default":"{}"},
  {"name":"summary","kind":"text","label":"Summary","help":"The purpose of the schedule","default":null},
  {"name":"overlap","kind":"choice","label":"Overlap","help":"What happens to a slot while an earlier job of the schedule is unfinished","default":"skip","values":{"skip":"skip the slot","queue-one":"queue one job behind the earlier one","replace":"replace the earlier job","allow":"run alongside the earlier job"}},
  {"name":"catchUp","kind":"whole","label":"Catch up","help":"Maximum number of runs for slots that are due at the same time, for example after downtime: the newest slots run. With 0, only a slot that is on time runs","default":1},
  {"name":"jitter","kind":"span","label":"Jitter","help":"Delays all runs of the schedule by the same fraction of this time","default":0},
  {"name":"starts","kind":"instant","label":"Starts","help":"No slot before this time","default":null},
  {"name":"ends","kind":"instant","label":"Ends","help":"No slot after this time","default":null},
  {"name":"maxRuns","kind":"whole","label":"Max runs","help":"Number of successful runs after which the schedule is done","otherwise":"no limit","default":null},
  {"name":"timeout","kind":"span","label":"Timeout","help":"Maximum duration of an attempt","otherwise":"as set for the task","default":null},
  {"name":"retries","kind":"whole","label":"Retries","help":"Number of attempts after the first, or `unlimited`","otherwise":"as set for the task","default":null},
  {"name":"retryDelay","kind":"span","label":"Retry delay","help":"Time before the first retry","otherwise":"as set for the task","default":null},
  {"name":"retryBackoff","kind":"choice","label":"Retry backoff","help":"How the delay grows with each retry","otherwise":"as set for the task","default":null,"values":{"exponential":"double it, up to ten times the first","fixed":"keep it the same"}},
  {"name":"yields","kind":"flag","label":"Yields","help":"Whether a job that is waiting for a retry gives way to the next slot, and fails, if the overlap policy is `skip` or `queue-one`. A running handler is not stopped","default":false,"values":{"false":"no","true":"yes"}},
  {"name":"onExhausted","kind":"choice","label":"On exhausted","help":"What happens after a run has failed permanently","default":"continue","values":{"continue":"continue with the next slot","stop":"stop the schedule until it is reset"}},
  {"name":"afterDone","kind":"choice","label":"After done","help":"What happens to a finished schedule once its jobs are pruned","default":"keep","values":{"keep":"keep it","delete":"delete it, unless code declares it"}},
  {"name":"priority","kind":"whole","label":"Priority","help":"Jobs with a higher priority run first","default":0},
  {"name":"group","kind":"text","label":"Group","help":"Groups take turns in the queue","default":""},
  {"name":"submitter","kind":"text","label":"Submitter","help":"The user who owns the schedule or job","default":null},
  {"name":"subject","kind":"text","label":"Subject","help":"What the schedule or job is about, such as the id of a row of the application","default":null},
] as const
