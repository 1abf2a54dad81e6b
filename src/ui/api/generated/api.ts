// Generated from the OpenAPI document: npm run generate:api.
export interface paths {
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules
         * @description Ordered by id. For each page, `text` is searched in the next 100,000 schedules that match the other filters.
         */
        get: operations["listSchedules"];
        put?: never;
        /**
         * Create a schedule
         * @description A request with an id of your choice can be repeated: the schedule is created only once.
         */
        post: operations["createSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/batch-delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete several schedules
         * @description Unknown ids are ignored. The request stops at the first schedule that you may not delete.
         */
        post: operations["deleteSchedules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a schedule */
        get: operations["getSchedule"];
        /**
         * Create or replace a schedule
         * @description Omitted settings get their defaults. `enabled` and `firstRun` apply to a new schedule only, so a paused schedule stays paused. You can change the response of GET and send it back: its read-only fields are ignored.
         */
        put: operations["putSchedule"];
        post?: never;
        /**
         * Delete a schedule
         * @description The jobs of the schedule are kept.
         */
        delete: operations["deleteSchedule"];
        options?: never;
        head?: never;
        /**
         * Change some settings
         * @description Omitted settings stay unchanged. A new timer is planned from now. If the task changes but the args do not, they must be valid for the new task.
         */
        patch: operations["changeSchedule"];
        trace?: never;
    };
    "/api/v1/schedules/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submit no runs until the schedule is resumed */
        post: operations["pauseSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Continue, planned from now */
        post: operations["resumeSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reactivate a schedule that is done or dead, and clear its counters */
        post: operations["resetSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a schedule now, in addition to its timer
         * @description This also works while the schedule is paused. Unless its runs may overlap, the request is rejected while one of its jobs is not final; `jobId` in the response names that job.
         */
        post: operations["runSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runs and skips of a schedule, newest slot first */
        get: operations["scheduleHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/elapses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the next run times of a schedule */
        get: operations["scheduleElapses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain why a schedule did or did not run, and when it runs next */
        get: operations["explainSchedule"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs, newest first
         * @description With a final state, the jobs that ended last come first. For each page, filters without an index, such as the text of errors, search the next 100,000 jobs that match the other filters.
         */
        get: operations["listJobs"];
        put?: never;
        /**
         * Submit a job without a schedule
         * @description A request with an id of your choice can be repeated: the job is submitted only once.
         */
        post: operations["submitJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a job */
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the newest 100 attempts of a job, oldest first
         * @description This includes a running attempt, a successful attempt and attempts before a manual retry.
         */
        get: operations["jobAttempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the log lines of all attempts of a job, in order
         * @description To follow the log, repeat the request with the id of the last line in `after`.
         */
        get: operations["jobLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a waiting job, or ask the worker to stop a running one */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel several jobs
         * @description By id, or by a filter and the state waiting, blocked, running or external (default: all of these), up to 1000 at a time. With dryRun, the matching jobs are only counted.
         */
        post: operations["cancelJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a failed or cancelled job again, from its first attempt */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run several jobs again
         * @description By id, or by a filter and the state failed (default) or cancelled, up to 1000 at a time. With dryRun, the matching jobs are only counted.
         */
        post: operations["retryJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/freezes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the active freezes */
        get: operations["listFreezes"];
        put?: never;
        /**
         * Stop a schedule, a task, a group or everything until a given time
         * @description A freeze applies to everything that matches all fields. Jobs and retries wait; slots are skipped with the reason `frozen`.
         */
        post: operations["freeze"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/freezes/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Show what a freeze would hold and skip */
        post: operations["previewFreeze"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/freezes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a freeze now */
        delete: operations["thaw"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/counts/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count schedules by status */
        get: operations["countSchedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/counts/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count jobs by state
         * @description With a filter, at most the newest 100,000 jobs are counted.
         */
        get: operations["countJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the first lines of the errors of the newest 10,000 failed jobs, most frequent first
         * @description At most 100 errors.
         */
        get: operations["listFailures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tasks of schedules and workers */
        get: operations["listTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the workers of this database */
        get: operations["listWorkers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List problems and how to fix them */
        get: operations["doctor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/timers/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check a timer and describe it */
        get: operations["checkTimer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count planned and past runs by hour */
        get: operations["getLoad"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upcoming": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runs between two instants, earliest first */
        get: operations["listUpcoming"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get what you may do here */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow changes as server-sent events
         * @description Events of the type `change` contain `{"topics": [...]}`, which lists what to read again: schedules, jobs or workers. At most one event per second is sent; together, the events cover every change, including changes in SQL. With `Last-Event-ID`, the first event lists all topics, because any may have changed. With a scope, an event arrives every five seconds, whether or not anything has changed, so that events do not reveal what others do.
         */
        get: operations["followChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get metrics for Prometheus */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether this process works
         * @description For readiness probes; requires no sign-in. Signed-in callers without a scope see the reasons.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether this process can recover without a restart
         * @description For liveness probes: an unavailable database is not a reason to restart the process, but a stuck loop is.
         */
        get: operations["getLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get this document */
        get: operations["getDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ScheduleInput: {
            /** @description The name of the task to run */
            task: string;
            /** @description Whether the schedule runs or is paused. Kalends changes it only on request; default true */
            enabled?: boolean;
            /** @description When the schedule runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless the timer names a zone. A timer with a full date runs once */
            timer: string;
            /** @description Arguments for the task, as JSON; default `{}` */
            args?: unknown;
            summary?: string | null;
            /**
             * @description What happens to a slot while an earlier job of the schedule is unfinished; default `skip`
             * @enum {string}
             */
            overlap?: "skip" | "queue-one" | "replace" | "allow";
            /** @description Maximum number of runs for slots that are due at the same time, for example after downtime: the newest slots run. With 0, only a slot that is on time runs; default 1 */
            catchUp?: number;
            /** @description Delays all runs of the schedule by the same fraction of this time: milliseconds or a time span; default 0 */
            jitter?: number | string;
            starts?: string | null;
            ends?: string | null;
            maxRuns?: number | null;
            timeout?: (number | string) | null;
            retries?: (number | "unlimited") | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /** @description Whether a job that is waiting for a retry gives way to the next slot, and fails, if the overlap policy is `skip` or `queue-one`. A running handler is not stopped; default false */
            yields?: boolean;
            /**
             * @description What happens after a run has failed permanently; default `continue`
             * @enum {string}
             */
            onExhausted?: "continue" | "stop";
            /**
             * @description What happens to a finished schedule once its jobs are pruned; default `keep`
             * @enum {string}
             */
            afterDone?: "keep" | "delete";
            /** @description Jobs with a higher priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /** @description The zone of a timer that names none: an IANA name, or 'local' for the server's zone */
            zone?: string;
            /**
             * @description When a new schedule first runs; default `next`
             * @enum {string}
             */
            firstRun?: "next" | "now" | "if-due";
        };
        PutSchedule: {
            /** @description The name of the task to run */
            task: string;
            /** @description Whether the schedule runs or is paused. Kalends changes it only on request; default true */
            enabled?: boolean;
            /** @description When the schedule runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless the timer names a zone. A timer with a full date runs once */
            timer: string;
            /** @description Arguments for the task, as JSON; default `{}` */
            args?: unknown;
            summary?: string | null;
            /**
             * @description What happens to a slot while an earlier job of the schedule is unfinished; default `skip`
             * @enum {string}
             */
            overlap?: "skip" | "queue-one" | "replace" | "allow";
            /** @description Maximum number of runs for slots that are due at the same time, for example after downtime: the newest slots run. With 0, only a slot that is on time runs; default 1 */
            catchUp?: number;
            /** @description Delays all runs of the schedule by the same fraction of this time: milliseconds or a time span; default 0 */
            jitter?: number | string;
            starts?: string | null;
            ends?: string | null;
            maxRuns?: number | null;
            timeout?: (number | string) | null;
            retries?: (number | "unlimited") | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /** @description Whether a job that is waiting for a retry gives way to the next slot, and fails, if the overlap policy is `skip` or `queue-one`. A running handler is not stopped; default false */
            yields?: boolean;
            /**
             * @description What happens after a run has failed permanently; default `continue`
             * @enum {string}
             */
            onExhausted?: "continue" | "stop";
            /**
             * @description What happens to a finished schedule once its jobs are pruned; default `keep`
             * @enum {string}
             */
            afterDone?: "keep" | "delete";
            /** @description Jobs with a higher priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /** @description The zone of a timer that names none: an IANA name, or 'local' for the server's zone */
            zone?: string;
            /**
             * @description When a new schedule first runs; default `next`
             * @enum {string}
             */
            firstRun?: "next" | "now" | "if-due";
            /** @description Ignored: PUT accepts what GET returns */
            id?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            nextRunAt?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            declaredBy?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            createdAt?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            markedBy?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            lastSlot?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            runCount?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            errorCount?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            failedAttempts?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            lastRunAt?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            lastFinishedAt?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            lastJobId?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            lastError?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            pauseReason?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            frozenUntil?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            retryAt?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            retry?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            retryLimit?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            status?: unknown;
            /** @description Ignored: PUT accepts what GET returns */
            waitingFor?: unknown;
        };
        NewSchedule: {
            /** @description The name of the task to run */
            task: string;
            /** @description Whether the schedule runs or is paused. Kalends changes it only on request; default true */
            enabled?: boolean;
            /** @description When the schedule runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless the timer names a zone. A timer with a full date runs once */
            timer: string;
            /** @description Arguments for the task, as JSON; default `{}` */
            args?: unknown;
            summary?: string | null;
            /**
             * @description What happens to a slot while an earlier job of the schedule is unfinished; default `skip`
             * @enum {string}
             */
            overlap?: "skip" | "queue-one" | "replace" | "allow";
            /** @description Maximum number of runs for slots that are due at the same time, for example after downtime: the newest slots run. With 0, only a slot that is on time runs; default 1 */
            catchUp?: number;
            /** @description Delays all runs of the schedule by the same fraction of this time: milliseconds or a time span; default 0 */
            jitter?: number | string;
            starts?: string | null;
            ends?: string | null;
            maxRuns?: number | null;
            timeout?: (number | string) | null;
            retries?: (number | "unlimited") | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /** @description Whether a job that is waiting for a retry gives way to the next slot, and fails, if the overlap policy is `skip` or `queue-one`. A running handler is not stopped; default false */
            yields?: boolean;
            /**
             * @description What happens after a run has failed permanently; default `continue`
             * @enum {string}
             */
            onExhausted?: "continue" | "stop";
            /**
             * @description What happens to a finished schedule once its jobs are pruned; default `keep`
             * @enum {string}
             */
            afterDone?: "keep" | "delete";
            /** @description Jobs with a higher priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /** @description The zone of a timer that names none: an IANA name, or 'local' for the server's zone */
            zone?: string;
            /**
             * @description When a new schedule first runs; default `next`
             * @enum {string}
             */
            firstRun?: "next" | "now" | "if-due";
            /** @description An id of your choice, 1 to 254 characters */
            id?: string;
        };
        ScheduleChanges: {
            /** @description The name of the task to run */
            task?: string;
            /** @description Whether the schedule runs or is paused. Kalends changes it only on request; default true */
            enabled?: boolean;
            /** @description When the schedule runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless the timer names a zone. A timer with a full date runs once */
            timer?: string;
            /** @description Arguments for the task, as JSON; default `{}` */
            args?: unknown;
            summary?: string | null;
            /**
             * @description What happens to a slot while an earlier job of the schedule is unfinished; default `skip`
             * @enum {string}
             */
            overlap?: "skip" | "queue-one" | "replace" | "allow";
            /** @description Maximum number of runs for slots that are due at the same time, for example after downtime: the newest slots run. With 0, only a slot that is on time runs; default 1 */
            catchUp?: number;
            /** @description Delays all runs of the schedule by the same fraction of this time: milliseconds or a time span; default 0 */
            jitter?: number | string;
            starts?: string | null;
            ends?: string | null;
            maxRuns?: number | null;
            timeout?: (number | string) | null;
            retries?: (number | "unlimited") | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /** @description Whether a job that is waiting for a retry gives way to the next slot, and fails, if the overlap policy is `skip` or `queue-one`. A running handler is not stopped; default false */
            yields?: boolean;
            /**
             * @description What happens after a run has failed permanently; default `continue`
             * @enum {string}
             */
            onExhausted?: "continue" | "stop";
            /**
             * @description What happens to a finished schedule once its jobs are pruned; default `keep`
             * @enum {string}
             */
            afterDone?: "keep" | "delete";
            /** @description Jobs with a higher priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /** @description The zone of a timer that names none: an IANA name, or 'local' for the server's zone */
            zone?: string;
        };
        RunInput: {
            /** @description For this run only; needs the permission 'submit' */
            args?: unknown;
        };
        PauseInput: {
            /**
             * @description What happens to waiting and blocked jobs; default `leave`: they run
             * @enum {string}
             */
            jobs?: "leave" | "cancel";
            reason?: string;
        };
        FreezeTarget: {
            /** @description An id of your choice, 1 to 254 characters */
            scheduleId?: string;
            /** @description The name of the task to run */
            task?: string;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            /** @description Freeze everything; cannot be combined with `scheduleId`, `task` or `group` */
            all?: boolean;
            /** Format: date-time */
            until: string;
        };
        NewFreeze: {
            /** @description An id of your choice, 1 to 254 characters */
            scheduleId?: string;
            /** @description The name of the task to run */
            task?: string;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            /** @description Freeze everything; cannot be combined with `scheduleId`, `task` or `group` */
            all?: boolean;
            /** Format: date-time */
            until: string;
            reason?: string;
        };
        Ids: {
            ids: string[];
        };
        NewJob: {
            /** @description 1 to 254 ASCII characters */
            id?: string;
            /** @description The name of the task to run */
            task: string;
            /** @description Arguments for the task, as JSON; default `{}` */
            args?: unknown;
            timeout?: (number | string) | null;
            retries?: (number | "unlimited") | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /** @description Jobs with a higher priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /** Format: date-time */
            runAt?: string;
            /** @description Instead of `runAt`: the time from now to the earliest start */
            delay?: number | string;
        };
        JobsAction: {
            ids?: string[];
            filter?: {
                /** @enum {string} */
                state?: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
                task?: string;
                group?: string;
                submitter?: string;
                /** @description An id of your choice, 1 to 254 characters */
                scheduleId?: string;
                /** @description The worker that runs the job now */
                worker?: string;
                /** @description The start of the id */
                id?: string;
                /** @description Part of the error; case-insensitive */
                error?: string;
                /** @description Part of the stored args; case-insensitive */
                args?: string;
                /** Format: date-time */
                finishedFrom?: string;
                /** Format: date-time */
                finishedTo?: string;
            };
            /** @description Only count the matching jobs */
            dryRun?: boolean;
            /** @description Maximum number of jobs to select with a filter; default 1000 */
            limit?: number;
        };
        Schedule: {
            id: string;
            task: string;
            enabled: boolean;
            timer: string;
            /** @description Any JSON */
            args: unknown;
            summary: string | null;
            /** @enum {string} */
            overlap: "skip" | "queue-one" | "replace" | "allow";
            catchUp: number;
            jitter: number;
            starts: string | null;
            ends: string | null;
            maxRuns: number | null;
            timeout: number | null;
            retries: (number | "unlimited") | null;
            retryDelay: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            yields: boolean;
            /** @enum {string} */
            onExhausted: "continue" | "stop";
            /** @enum {string} */
            afterDone: "keep" | "delete";
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            nextRunAt: string | null;
            declaredBy: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            createdAt: string;
            markedBy: string | null;
            lastSlot: string | null;
            runCount: number;
            errorCount: number;
            failedAttempts: number;
            lastRunAt: string | null;
            lastFinishedAt: string | null;
            lastJobId: string | null;
            lastError: string | null;
            pauseReason: string | null;
            frozenUntil: string | null;
            retryAt: string | null;
            retry: number | null;
            retryLimit: number | null;
            /** @enum {string} */
            status: "active" | "retrying" | "frozen" | "paused" | "done" | "dead" | "invalid" | "retired";
            /** @description finish: active, but without a next run, because the time of the next run depends on when the current run ends */
            waitingFor: "finish" | null;
        };
        RecentRun: {
            id: string;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
            slot: string | null;
            startedAt: string | null;
            finishedAt: string | null;
        };
        ListedSchedule: {
            id: string;
            task: string;
            enabled: boolean;
            timer: string;
            /** @description Any JSON */
            args: unknown;
            summary: string | null;
            /** @enum {string} */
            overlap: "skip" | "queue-one" | "replace" | "allow";
            catchUp: number;
            jitter: number;
            starts: string | null;
            ends: string | null;
            maxRuns: number | null;
            timeout: number | null;
            retries: (number | "unlimited") | null;
            retryDelay: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            yields: boolean;
            /** @enum {string} */
            onExhausted: "continue" | "stop";
            /** @enum {string} */
            afterDone: "keep" | "delete";
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            nextRunAt: string | null;
            declaredBy: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            createdAt: string;
            markedBy: string | null;
            lastSlot: string | null;
            runCount: number;
            errorCount: number;
            failedAttempts: number;
            lastRunAt: string | null;
            lastFinishedAt: string | null;
            lastJobId: string | null;
            lastError: string | null;
            pauseReason: string | null;
            frozenUntil: string | null;
            retryAt: string | null;
            retry: number | null;
            retryLimit: number | null;
            /** @enum {string} */
            status: "active" | "retrying" | "frozen" | "paused" | "done" | "dead" | "invalid" | "retired";
            /** @description finish: active, but without a next run, because the time of the next run depends on when the current run ends */
            waitingFor: "finish" | null;
            /** @description Large values that the list omits (null) or shortens (errors, to their first lines), with their sizes in bytes. GET on the row returns them in full. */
            truncated?: {
                [key: string]: number;
            };
            /** @description The timer in words; null if it cannot be parsed */
            timerDescription: string | null;
            /** @description Newest first, if requested */
            runs?: components["schemas"]["RecentRun"][];
        };
        SchedulePage: {
            items: components["schemas"]["ListedSchedule"][];
            /** @description The total across all pages: 1000 means 1000 or more; null if the search stopped before the total was known */
            total: number | null;
            /** @description `after` for the next page; null at the end. A search may return fewer rows than the limit, or none, even if there is a next page */
            next: string | null;
        };
        Job: {
            id: string;
            scheduleId: string | null;
            slot: string | null;
            missed: number;
            run: number | null;
            task: string;
            /** @description Any JSON */
            args: unknown;
            timeout: number | null;
            retries: (number | "unlimited") | null;
            retryDelay: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
            reason: ("overlap" | "missed" | "frozen" | "max-runs" | "unsubmittable" | "exhausted" | "permanent" | "lost" | "yielded" | "unreported" | "replaced" | "paused" | "run-now" | "retried" | "handed-over") | null;
            /** @description The external queue that the job goes to, or null if Kalends runs the job */
            queue: string | null;
            worker: string | null;
            attempt: number;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            submittedAt: string;
            runAt: string | null;
            frozenUntil: string | null;
            startedAt: string | null;
            finishedAt: string | null;
            /** @description Any JSON */
            progress: unknown;
            /** @description Any JSON */
            result: unknown;
            error: string | null;
            stopRequestedAt: string | null;
            /**
             * @description Set if the schedule that created the job was deleted, even if another one has the same id now
             * @constant
             */
            scheduleDeleted?: true;
        };
        SubmittedJob: {
            id: string;
            scheduleId: string | null;
            slot: string | null;
            missed: number;
            run: number | null;
            task: string;
            /** @description Any JSON */
            args: unknown;
            timeout: number | null;
            retries: (number | "unlimited") | null;
            retryDelay: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
            reason: ("overlap" | "missed" | "frozen" | "max-runs" | "unsubmittable" | "exhausted" | "permanent" | "lost" | "yielded" | "unreported" | "replaced" | "paused" | "run-now" | "retried" | "handed-over") | null;
            /** @description The external queue that the job goes to, or null if Kalends runs the job */
            queue: string | null;
            worker: string | null;
            attempt: number;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            submittedAt: string;
            runAt: string | null;
            frozenUntil: string | null;
            startedAt: string | null;
            finishedAt: string | null;
            /** @description Any JSON */
            progress: unknown;
            /** @description Any JSON */
            result: unknown;
            error: string | null;
            stopRequestedAt: string | null;
            /**
             * @description Set if the schedule that created the job was deleted, even if another one has the same id now
             * @constant
             */
            scheduleDeleted?: true;
            /** @description Set if no worker is known to handle the task; suggests the known task with the most similar name */
            warning?: string;
        };
        WrittenSchedule: {
            id: string;
            task: string;
            enabled: boolean;
            timer: string;
            /** @description Any JSON */
            args: unknown;
            summary: string | null;
            /** @enum {string} */
            overlap: "skip" | "queue-one" | "replace" | "allow";
            catchUp: number;
            jitter: number;
            starts: string | null;
            ends: string | null;
            maxRuns: number | null;
            timeout: number | null;
            retries: (number | "unlimited") | null;
            retryDelay: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            yields: boolean;
            /** @enum {string} */
            onExhausted: "continue" | "stop";
            /** @enum {string} */
            afterDone: "keep" | "delete";
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            nextRunAt: string | null;
            declaredBy: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            createdAt: string;
            markedBy: string | null;
            lastSlot: string | null;
            runCount: number;
            errorCount: number;
            failedAttempts: number;
            lastRunAt: string | null;
            lastFinishedAt: string | null;
            lastJobId: string | null;
            lastError: string | null;
            pauseReason: string | null;
            frozenUntil: string | null;
            retryAt: string | null;
            retry: number | null;
            retryLimit: number | null;
            /** @enum {string} */
            status: "active" | "retrying" | "frozen" | "paused" | "done" | "dead" | "invalid" | "retired";
            /** @description finish: active, but without a next run, because the time of the next run depends on when the current run ends */
            waitingFor: "finish" | null;
            /** @description Set if no worker is known to handle the task; suggests the known task with the most similar name */
            warning?: string;
        };
        ShownJob: {
            id: string;
            scheduleId: string | null;
            slot: string | null;
            missed: number;
            run: number | null;
            task: string;
            /** @description Any JSON */
            args: unknown;
            timeout: number | null;
            retries: (number | "unlimited") | null;
            retryDelay: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
            reason: ("overlap" | "missed" | "frozen" | "max-runs" | "unsubmittable" | "exhausted" | "permanent" | "lost" | "yielded" | "unreported" | "replaced" | "paused" | "run-now" | "retried" | "handed-over") | null;
            /** @description The external queue that the job goes to, or null if Kalends runs the job */
            queue: string | null;
            worker: string | null;
            attempt: number;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            submittedAt: string;
            runAt: string | null;
            frozenUntil: string | null;
            startedAt: string | null;
            finishedAt: string | null;
            /** @description Any JSON */
            progress: unknown;
            /** @description Any JSON */
            result: unknown;
            error: string | null;
            stopRequestedAt: string | null;
            /**
             * @description Set if the schedule that created the job was deleted, even if another one has the same id now
             * @constant
             */
            scheduleDeleted?: true;
            /** @description Why the job waits, or where it runs; null if it is final */
            explanation: string | null;
        };
        ListedJob: {
            id: string;
            scheduleId: string | null;
            slot: string | null;
            missed: number;
            run: number | null;
            task: string;
            /** @description Any JSON */
            args: unknown;
            timeout: number | null;
            retries: (number | "unlimited") | null;
            retryDelay: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
            reason: ("overlap" | "missed" | "frozen" | "max-runs" | "unsubmittable" | "exhausted" | "permanent" | "lost" | "yielded" | "unreported" | "replaced" | "paused" | "run-now" | "retried" | "handed-over") | null;
            /** @description The external queue that the job goes to, or null if Kalends runs the job */
            queue: string | null;
            worker: string | null;
            attempt: number;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            submittedAt: string;
            runAt: string | null;
            frozenUntil: string | null;
            startedAt: string | null;
            finishedAt: string | null;
            /** @description Any JSON */
            progress: unknown;
            /** @description Any JSON */
            result: unknown;
            error: string | null;
            stopRequestedAt: string | null;
            /**
             * @description Set if the schedule that created the job was deleted, even if another one has the same id now
             * @constant
             */
            scheduleDeleted?: true;
            /** @description Large values that the list omits (null) or shortens (errors, to their first lines), with their sizes in bytes. GET on the row returns them in full. */
            truncated?: {
                [key: string]: number;
            };
        };
        JobPage: {
            items: components["schemas"]["ListedJob"][];
            /** @description The total across all pages: 1000 means 1000 or more; null if the search stopped before the total was known */
            total: number | null;
            /** @description `after` for the next page; null at the end. A search may return fewer rows than the limit, or none, even if there is a next page */
            next: string | null;
        };
        History: {
            items: components["schemas"]["ListedJob"][];
        };
        JobReference: {
            jobId: string;
        };
        JobsActionAnswer: {
            /** @description Jobs that match */
            matched: number;
            matchedIsExact: boolean;
            /** @description Their ids */
            changed: string[];
            refused: {
                id: string;
                detail: string;
            }[];
            /** @description Whether more jobs may match the filter; if so, repeat the request */
            more: boolean;
        };
        Elapse: {
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            at: string;
            local: string;
        };
        Elapses: {
            zone: string;
            items: components["schemas"]["Elapse"][];
        };
        Explanation: {
            scheduleId: string;
            /** @enum {string} */
            status: "active" | "retrying" | "frozen" | "paused" | "done" | "dead" | "invalid" | "retired";
            nextRunAt: string | null;
            reasons: string[];
        };
        Attempts: {
            items: {
                /** @description Starts at 1. Two attempts have the same number if the earlier one was released or snoozed, or the job was retried manually */
                attempt: number;
                worker: string | null;
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                startedAt: string;
                /** @description null while the attempt is running */
                endedAt: string | null;
                /** @description released: the worker returned the job to the queue, for example because it stopped; snoozed: the handler asked to run again later; lost: the worker died; null while the attempt is running */
                outcome: ("success" | "failed" | "timeout" | "cancelled" | "released" | "snoozed" | "lost") | null;
                error: string | null;
                /** @description Large values that the list omits (null) or shortens (errors, to their first lines), with their sizes in bytes. GET on the row returns them in full. */
                truncated?: {
                    [key: string]: number;
                };
            }[];
        };
        LogLines: {
            items: {
                /** @description For `after` */
                id: number;
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                at: string;
                /** @enum {string} */
                level: "debug" | "info" | "warn" | "error";
                message: string;
            }[];
        };
        ScheduleCounts: {
            counts: {
                [key: string]: number;
            };
            /** @description False if some counts are only lower bounds */
            isExact: boolean;
        };
        JobCounts: {
            counts: {
                [key: string]: number;
            };
            isExact: boolean;
        };
        Failures: {
            items: {
                /** @description The first line */
                error: string;
                jobs: number;
                tasks: string[];
                lastJobId: string;
                lastFinishedAt: string | null;
            }[];
            /** @description False if there may be more */
            complete: boolean;
        };
        Tasks: {
            items: {
                name: string;
                /** @description Live workers that handle the task */
                workers: number;
            }[];
        };
        Workers: {
            items: {
                id: string;
                name: string;
                host: string;
                pid: number;
                tasks: string[];
                sets: {
                    [key: string]: string;
                };
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                startedAt: string;
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                heartbeatAt: string;
                silentMs: number;
                alive: boolean;
                running: number;
            }[];
        };
        TimerCheck: {
            /** @constant */
            valid: false;
            error: {
                /** @enum {string} */
                code: "CALENDAR_SYNTAX" | "CRON_SYNTAX" | "INVALID_TIME_SPAN";
                message: string;
                column: number | null;
                token: string | null;
                hint: string | null;
            };
        } | {
            /** @constant */
            valid: true;
            /** @enum {string} */
            kind: "calendar" | "cron" | "every" | "after-finish";
            /** @description In normal form */
            text: string;
            zone: string;
            description: string;
            elapses: components["schemas"]["Elapse"][];
            warnings: string[];
            /** @description For cron: the calendar events with the same run times */
            events: string[];
        };
        Load: {
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            from: string;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            to: string;
            hours: {
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                hour: string;
                planned: number;
                ended: {
                    [key: string]: number;
                };
            }[];
            /** @description The active, retrying and frozen schedules that were counted */
            schedules: number;
            plannedIsExact: boolean;
            /** @description False if the first hours are missing */
            endedIsComplete: boolean;
        };
        Upcoming: {
            items: {
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                at: string;
                scheduleId: string;
                task: string;
            }[];
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            from: string;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            to: string;
            /** @description False if there are more */
            complete: boolean;
        };
        Me: {
            /** @enum {string} */
            role: "read" | "operate" | "admin";
            /** @description Whether you may submit jobs, and run a schedule with other args */
            submit: boolean;
            /** @description The tasks whose schedules and jobs you may write; null means all except the built-in ones */
            tasks: string[] | null;
            user: string | null;
            scope: {
                group: string | null;
                submitter: string | null;
            };
            /** @description The filters of jobs that you cannot use, because their values are hidden from you, at least in part */
            unsearchable: ("args" | "error" | "worker")[];
            /** @description Added to timers that name no zone */
            zone: string;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            now: string;
        };
        Health: {
            /** @description Whether the process works */
            ok: boolean;
            /** @description False if the process cannot recover without a restart */
            live: boolean;
            worker?: string | null;
            running?: number;
            /** @description Finished runs whose result has not been written yet */
            unwritten?: number;
            /** @description How many of these wait for a locked row */
            locked?: number;
            /** @description Finished runs whose result the database rejects */
            rejected?: number;
            /** @description How far the machine's clock is ahead of the database's */
            clockAheadMs?: number | null;
            /** @description The reasons why `ok` is false */
            reasons?: {
                code: string;
                subject: string | null;
                text: string;
            }[];
            warnings?: {
                code: string;
                subject: string | null;
                text: string;
            }[];
            loops?: {
                name: string;
                lastGoodPassAt: string | null;
                busySince: string | null;
                busyMs: number | null;
                nextPassAt: string | null;
                lateMs: number;
                consecutiveErrors: number;
                lastError: string | null;
                lastErrorAt: string | null;
            }[];
        };
        Freeze: {
            id: string;
            scheduleId: string | null;
            task: string | null;
            group: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            until: string;
            reason: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            createdAt: string;
        };
        Freezes: {
            items: components["schemas"]["Freeze"][];
        };
        FreezePreview: {
            /** @description The first 1000 slots during the freeze; one-offs run when it ends */
            slots: {
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                at: string;
                scheduleId: string;
                task: string;
            }[];
            isComplete: boolean;
            /** @description Waiting jobs that the freeze would hold: 1000 means 1000 or more; null if unknown */
            jobs: number | null;
        };
        Findings: {
            items: {
                code: string;
                /** @description At most ten */
                subjects: string[];
                count: number;
                problem: string;
                fix: string;
            }[];
        };
        /** @description RFC 9457 */
        ProblemDetails: {
            type: string;
            title: string;
            status: number;
            /** @description What was wrong and what to do */
            detail: string;
            code: string;
            /** @description The first invalid field */
            field?: string;
            errors?: {
                /** @description The path of the field in the body or the query, such as `args.to` */
                field: string;
                detail: string;
                /** @description The column at which the syntax error of a timer starts, counted from 1 */
                column?: number | null;
                token?: string | null;
                /** @description What to write instead */
                hint?: string | null;
            }[];
            /** @description The job that the request conflicts with */
            jobId?: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type ScheduleInput = components['schemas']['ScheduleInput'];
export type PutSchedule = components['schemas']['PutSchedule'];
export type NewSchedule = components['schemas']['NewSchedule'];
export type ScheduleChanges = components['schemas']['ScheduleChanges'];
export type RunInput = components['schemas']['RunInput'];
export type PauseInput = components['schemas']['PauseInput'];
export type FreezeTarget = components['schemas']['FreezeTarget'];
export type NewFreeze = components['schemas']['NewFreeze'];
export type Ids = components['schemas']['Ids'];
export type NewJob = components['schemas']['NewJob'];
export type JobsAction = components['schemas']['JobsAction'];
export type Schedule = components['schemas']['Schedule'];
export type RecentRun = components['schemas']['RecentRun'];
export type ListedSchedule = components['schemas']['ListedSchedule'];
export type SchedulePage = components['schemas']['SchedulePage'];
export type Job = components['schemas']['Job'];
export type SubmittedJob = components['schemas']['SubmittedJob'];
export type WrittenSchedule = components['schemas']['WrittenSchedule'];
export type ShownJob = components['schemas']['ShownJob'];
export type ListedJob = components['schemas']['ListedJob'];
export type JobPage = components['schemas']['JobPage'];
export type History = components['schemas']['History'];
export type JobReference = components['schemas']['JobReference'];
export type JobsActionAnswer = components['schemas']['JobsActionAnswer'];
export type Elapse = components['schemas']['Elapse'];
export type Elapses = components['schemas']['Elapses'];
export type Explanation = components['schemas']['Explanation'];
export type Attempts = components['schemas']['Attempts'];
export type LogLines = components['schemas']['LogLines'];
export type ScheduleCounts = components['schemas']['ScheduleCounts'];
export type JobCounts = components['schemas']['JobCounts'];
export type Failures = components['schemas']['Failures'];
export type Tasks = components['schemas']['Tasks'];
export type Workers = components['schemas']['Workers'];
export type TimerCheck = components['schemas']['TimerCheck'];
export type Load = components['schemas']['Load'];
export type Upcoming = components['schemas']['Upcoming'];
export type Me = components['schemas']['Me'];
export type Health = components['schemas']['Health'];
export type Freeze = components['schemas']['Freeze'];
export type Freezes = components['schemas']['Freezes'];
export type FreezePreview = components['schemas']['FreezePreview'];
export type Findings = components['schemas']['Findings'];
export type ProblemDetails = components['schemas']['ProblemDetails'];
export type $defs = Record<string, never>;
export interface operations {
    listSchedules: {
        parameters: {
            query?: {
                status?: "active" | "retrying" | "frozen" | "paused" | "done" | "dead" | "invalid" | "retired";
                task?: string;
                group?: string;
                submitter?: string;
                declaredBy?: string;
                /** @description Part of the id, summary, subject or task; case-insensitive */
                text?: string;
                /** @description `nextRunAt`: earliest next run first; schedules without a next run come last */
                order?: "id" | "nextRunAt";
                /** @description Include this many recent runs of each schedule; limit is then at most 200 */
                runs?: number;
                limit?: number;
                /** @description `next` of the previous page. In a list ordered by id, this can be any id: the page starts after it */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    createSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSchedule"];
            };
        };
        responses: {
            /** @description The schedule already exists with these settings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description The new schedule */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    deleteSchedules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Ids"];
            };
        };
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    putSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutSchedule"];
            };
        };
        responses: {
            /** @description The current schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description The new schedule */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    deleteSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    changeSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleChanges"];
            };
        };
        responses: {
            /** @description The current schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    pauseSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PauseInput"];
            };
        };
        responses: {
            /** @description The current schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description Not possible in the current state of the schedule */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    resumeSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description Not possible in the current state of the schedule */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    resetSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenSchedule"];
                };
            };
            /** @description Not possible in the current state of the schedule */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    runSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RunInput"];
            };
        };
        responses: {
            /** @description The submitted job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobReference"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    scheduleHistory: {
        parameters: {
            query?: {
                limit?: number;
                before?: string;
            };
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs and skips */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    scheduleElapses: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Run times */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Elapses"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    explainSchedule: {
        parameters: {
            query?: {
                at?: string;
            };
            header?: never;
            path: {
                /** @description An id of your choice, 1 to 254 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Reasons, most important first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: {
                state?: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
                task?: string;
                group?: string;
                submitter?: string;
                /** @description An id of your choice, 1 to 254 characters */
                scheduleId?: string;
                /** @description The worker that runs the job now */
                worker?: string;
                /** @description The start of the id */
                id?: string;
                /** @description Part of the error; case-insensitive */
                error?: string;
                /** @description Part of the stored args; case-insensitive */
                args?: string;
                finishedFrom?: string;
                finishedTo?: string;
                limit?: number;
                /** @description `next` of the previous page. In a list ordered by id, this can be any id: the page starts after it */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    submitJob: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description The same job already exists */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmittedJob"];
                };
            };
            /** @description The new job */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmittedJob"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 1 to 254 ASCII characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownJob"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    jobAttempts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 1 to 254 ASCII characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Attempts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attempts"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    jobLogs: {
        parameters: {
            query?: {
                limit?: number;
                after?: number;
            };
            header?: never;
            path: {
                /** @description 1 to 254 ASCII characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogLines"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    cancelJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 1 to 254 ASCII characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job after the request; still `running` if its worker was asked to stop it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    cancelJobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobsAction"];
            };
        };
        responses: {
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobsActionAnswer"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    retryJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 1 to 254 ASCII characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job after the request; still `running` if its worker was asked to stop it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    retryJobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobsAction"];
            };
        };
        responses: {
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobsActionAnswer"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listFreezes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Freezes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Freezes"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    freeze: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewFreeze"];
            };
        };
        responses: {
            /** @description The freeze */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Freeze"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    previewFreeze: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FreezeTarget"];
            };
        };
        responses: {
            /** @description Slots and jobs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FreezePreview"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    thaw: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The freeze */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Freeze"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The row does not exist, or belongs to another owner */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    countSchedules: {
        parameters: {
            query?: {
                status?: "active" | "retrying" | "frozen" | "paused" | "done" | "dead" | "invalid" | "retired";
                task?: string;
                group?: string;
                submitter?: string;
                declaredBy?: string;
                /** @description Part of the id, summary, subject or task; case-insensitive */
                text?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts. Without a filter, each is at most 10,000 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleCounts"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    countJobs: {
        parameters: {
            query?: {
                state?: "waiting" | "blocked" | "running" | "external" | "success" | "failed" | "cancelled" | "skipped";
                task?: string;
                group?: string;
                submitter?: string;
                /** @description An id of your choice, 1 to 254 characters */
                scheduleId?: string;
                /** @description The worker that runs the job now */
                worker?: string;
                /** @description The start of the id */
                id?: string;
                /** @description Part of the error; case-insensitive */
                error?: string;
                /** @description Part of the stored args; case-insensitive */
                args?: string;
                finishedFrom?: string;
                finishedTo?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts. Without a filter, each is at most 10,000 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCounts"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listFailures: {
        parameters: {
            query?: {
                task?: string;
                group?: string;
                submitter?: string;
                /** @description An id of your choice, 1 to 254 characters */
                scheduleId?: string;
                /** @description The worker that runs the job now */
                worker?: string;
                /** @description The start of the id */
                id?: string;
                /** @description Part of the error; case-insensitive */
                error?: string;
                /** @description Part of the stored args; case-insensitive */
                args?: string;
                finishedFrom?: string;
                finishedTo?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Errors */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failures"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tasks, by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tasks"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listWorkers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Workers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workers"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    doctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Problems; empty if there are none */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Findings"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    checkTimer: {
        parameters: {
            query: {
                timer: string;
                /** @description Added to a timer that names no zone; default: the server's zone */
                zone?: string;
                after?: string;
                /** @description The start of the slots of an `every` timer: the creation time of the schedule, if there is one */
                anchor?: string;
                /** @description How many run times to return; default 10 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The syntax error, or the meaning of the timer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimerCheck"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getLoad: {
        parameters: {
            query?: {
                /** @description Rounded down to the minute; default the current hour */
                from?: string;
                /** @description Default 168 */
                hours?: number;
                task?: string;
                group?: string;
                submitter?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Hours */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Load"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listUpcoming: {
        parameters: {
            query?: {
                /** @description Default now */
                from?: string;
                /** @description Default one hour after `from`; at most 31 days */
                to?: string;
                limit?: number;
                task?: string;
                group?: string;
                submitter?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Run times of active, retrying and frozen schedules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upcoming"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The permissions of the caller, and the zone and the time of the server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    followChanges: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description This user or address has too many streams open */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description prom-client is not installed */
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process works */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description The process does not work */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process can recover */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description The process needs a restart */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getDocument: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request cannot be parsed, or is not possible in the current state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A limit is reached, or too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database is unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
}
