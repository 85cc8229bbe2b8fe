static void *calls(void *tag) {
    for (int round = 0; round < 200; round++) {
        MPI_Request request;
        MPI_Irecv(b, 10, MPI_DOUBLE, down, *(int *)tag, MPI_COMM_WORLD, &request);
        usleep(10);
        MPI_Send(a, 10, MPI_DOUBLE, up, *(int *)tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}
